"""Exchanges codes and refresh tokens for tokens: the grant types authorization_code and refresh_token."""

from typing import Protocol

from domogate.common.secrets import hash_secret, new_secret
from domogate.common.window_limiter import WindowLimiter
from domogate.domain.authorization import AuthorizationCode, RotationOutcome
from domogate.domain.people import Client, Grant, GrantType, User
from domogate.ports import Clock, PeopleStore, Signer, TokenStore
from domogate.services.authorization.audit_notes import AuditNotes
from domogate.services.authorization.client_authentication import require_grant
from domogate.services.authorization.consents import ONLINE
from domogate.services.authorization.faults import OAuthError, OAuthFault
from domogate.services.authorization.scopes import split_scopes
from domogate.services.authorization.secrets import derive_successor, is_verifier, verifies
from domogate.services.authorization.tokens import Lifetimes, TokenMint, TokenSet
from domogate.services.rights.identity_cache import IdentityCache


def _refuse(description: str) -> OAuthFault:
    return OAuthFault(OAuthError.INVALID_GRANT, description)


_NO_CODE = "The code is not valid: unknown, expired, redeemed before, or not made for this client."
_NO_REFRESH_TOKEN = "The refresh token is not valid: unknown, expired, revoked, replaced, or of another client."


UNKNOWN_TOKENS, _SPAN, _ALL = 100, 60.0, "all clients"
"""The limit of unknown refresh tokens: `UNKNOWN_TOKENS` in a period of `_SPAN` seconds, counted for all clients together.

After that number, the gateway first searches the store for each further token of the period. It begins a write only if the
store has the token. So unknown tokens, which anybody can send, do not delay other writes.
"""


class ExchangeStore(TokenStore, PeopleStore, Protocol):
    """The parts of the store with grants, tokens and users."""


class Exchange:
    """Issues the tokens of the token endpoint, in exchange for an authorization code or a refresh token."""

    def __init__(
        self,
        store: ExchangeStore,
        identities: IdentityCache,
        clock: Clock,
        mint: TokenMint,
        lifetimes: Lifetimes,
        notes: AuditNotes,
        signer: Signer,
    ) -> None:
        self._store = store
        self._identities = identities
        self._clock = clock
        self._mint = mint
        self._lifetimes = lifetimes
        self._notes = notes
        self._signer = signer
        self._unknown = WindowLimiter(UNKNOWN_TOKENS, _SPAN)

    async def issue(self, user: User, client: Client, grant: Grant, *, nonce: str | None = None) -> TokenSet:
        """Issue the first tokens of a grant (Decision 0026).

        If the client is registered for refresh tokens, the result has a refresh token. For such a client, this method raises
        OAuthFault if the grant has just been deleted.
        """
        refresh_token = None
        if GrantType.REFRESH_TOKEN in client.grants:
            refresh_token = new_secret()
            try:
                await self._store.add_refresh_token(self._mint.refresh_token_of(grant, refresh_token))
            except ValueError:  # the grant has just been deleted with its user or client
                raise _refuse(_NO_CODE) from None
        return await self._mint.mint(user, client, grant, nonce=nonce, refresh_token=refresh_token)

    # --- authorization_code -------------------------------------------------------------------------------------------

    async def redeem(
        self, client: Client, code: str, redirect_uri: str | None, verifier: str | None, address: str = ""
    ) -> TokenSet:
        """Redeem a code for tokens (RFC 6749 §4.1.3).

        Raises OAuthFault if the request is refused. An existing code is refused if it was redeemed before or has expired, or if
        its user is not active. It is also refused if the client, redirect URI or verifier does not fit. In each of these cases
        the code is consumed and its grant is revoked. So a stolen code becomes useless.
        """
        require_grant(client, GrantType.AUTHORIZATION_CODE)
        if verifier is not None and not is_verifier(verifier):
            raise _refuse("The code_verifier must be 43 to 128 of the characters A-Z a-z 0-9 - . _ ~ (RFC 7636).")
        redeemed = await self._store.redeem_code(hash_secret(code), self._clock.now())
        if redeemed is None:
            raise _refuse(_NO_CODE)
        grant = redeemed.grant
        if not redeemed.first:
            self._notes.refused(client.id, grant.user_id, "code redeemed before", address)
            raise _refuse(_NO_CODE)
        user = await self._store.find_user(grant.user_id)
        problem = self._find_problem(client, redeemed.code, grant, user, redirect_uri, verifier)
        if problem is not None or user is None:
            await self._store.revoke_grant(grant.id, self._clock.now())
            self._notes.refused(client.id, grant.user_id, "code presented wrongly", address)
            raise _refuse(problem or _NO_CODE)
        if code.startswith(ONLINE):
            return await self._mint.mint(user, client, grant, nonce=redeemed.code.nonce)
        return await self.issue(user, client, grant, nonce=redeemed.code.nonce)

    def _find_problem(
        self,
        client: Client,
        code: AuthorizationCode,
        grant: Grant,
        user: User | None,
        redirect_uri: str | None,
        verifier: str | None,
    ) -> str | None:
        if code.client_id != client.id or code.expires_at <= self._clock.now() or grant.revoked_at is not None:
            return _NO_CODE
        if user is None or not user.active:
            return "The person who gave this grant no longer has an account."
        return _check_redirect(client, code, redirect_uri) or _check_verifier(code, verifier)

    # --- refresh_token ------------------------------------------------------------------------------------------------

    async def refresh(self, client: Client, refresh_token: str, scope: str | None, address: str = "") -> TokenSet:
        """Exchange a refresh token for new tokens (RFC 6749 §6, RFC 9700 §4.14).

        `scope` names the scopes of the new tokens, and must name only granted scopes. None means all granted scopes. Raises
        OAuthFault if the request is refused.

        For some seconds, a client that did not get the answer may repeat the request, and gets the same new refresh token again
        (Decision 0023). If a replaced refresh token is sent after these seconds, its grant is revoked.
        """
        require_grant(client, GrantType.REFRESH_TOKEN)
        presented_hash, now = hash_secret(refresh_token), self._clock.now()
        scopes = None
        if scope is not None or self._unknown.wait(_ALL, now) > 0:
            presented = await self._store.find_refresh_token(presented_hash)
            if presented is None or presented.client_id != client.id:
                raise self._refuse_unknown(now)
            if scope is not None:
                scopes = _reduce_scopes(await self._store.find_grant(presented.grant_id), scope)
        successor = derive_successor(refresh_token, await self._signer.find_server_secret())
        rotation = await self._store.rotate_refresh_token(
            presented_hash, client.id, self._mint.successor_of(client.id, successor), now, self._lifetimes.refresh_grace
        )
        grant = rotation.grant
        if grant is None:
            raise self._refuse_unknown(now)
        if rotation.outcome is RotationOutcome.REUSED:
            self._notes.reused(client.id, grant.id, address)
            raise _refuse(_NO_REFRESH_TOKEN)
        repeated = rotation.outcome is RotationOutcome.REPEATED
        if repeated and await self._store.find_refresh_token(hash_secret(successor)) is None:
            # Since the first answer, an emergency rotation of the signing keys has replaced the server secret.
            raise _refuse(_NO_REFRESH_TOKEN)
        user = await self._identities.find_user(grant.user_id)
        if user is None or not user.active:
            raise _refuse("The person who gave this grant no longer has an account.")
        return await self._mint.mint(user, client, grant, scopes=scopes, refresh_token=successor)

    def _refuse_unknown(self, now: float) -> OAuthFault:
        self._unknown.count(_ALL, now)
        return _refuse(_NO_REFRESH_TOKEN)


def _reduce_scopes(grant: Grant | None, scope: str) -> tuple[str, ...]:
    """Return the requested scopes. Raises OAuthFault if they are not a subset of the granted scopes (RFC 6749 §6)."""
    if grant is None:
        raise _refuse(_NO_REFRESH_TOKEN)
    wanted = split_scopes(scope)
    if not wanted or not set(wanted) <= set(grant.scopes):
        raise OAuthFault(
            OAuthError.INVALID_SCOPE, f"A refresh may only ask for scopes that were granted: {' '.join(grant.scopes)}."
        )
    return tuple(it for it in grant.scopes if it in wanted)


def _check_redirect(client: Client, code: AuthorizationCode, redirect_uri: str | None) -> str | None:
    """Check the redirect URI of a token request. Return the error, or None if there is no error.

    The request may leave out the redirect URI if it uses PKCE, or if the client has exactly one redirect URI (Decision 0023).
    """
    if redirect_uri is None:
        if code.code_challenge is not None or len(client.redirect_uris) == 1:
            return None
        return "The redirect_uri is missing: it must be the one of the authorization request."
    # If the authorization request had no redirect URI, the response went to the only registered one.
    only = client.redirect_uris[0] if len(client.redirect_uris) == 1 else None
    expected = only if code.redirect_uri is None else code.redirect_uri
    return None if redirect_uri == expected else "The redirect_uri is not the one of the authorization request."


def _check_verifier(code: AuthorizationCode, verifier: str | None) -> str | None:
    if code.code_challenge is None:
        # Protects against an attacker who removed the challenge from the request (RFC 9700 §4.8.2).
        return None if verifier is None else "A code_verifier was sent, but the authorization request had no code_challenge."
    if verifier is None:
        return "The code_verifier is missing: the authorization request had a code_challenge."
    return None if verifies(verifier, code.code_challenge) else "The code_verifier does not match the code_challenge."
