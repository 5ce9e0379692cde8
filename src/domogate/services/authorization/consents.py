"""Consent of a person: a grant is stored, and the client gets a code or tokens."""

from collections.abc import Sequence

import msgspec

from domogate.common.secrets import hash_secret, new_secret
from domogate.domain.authorization import AuthorizationCode, Session
from domogate.domain.ids import new_id
from domogate.domain.people import PAGES_CLIENT, Client, Grant, GrantType, IdentityScope, User
from domogate.ports import Clock, TokenStore
from domogate.services.authorization.audit_notes import AuditNotes
from domogate.services.authorization.tokens import Lifetimes, TokenMint, TokenSet

ONLINE = "online."
"""The prefix of a code that gives no refresh token, because the person did not grant the offline access that was asked for.

The store keeps a hash of the whole code, so the client cannot remove the prefix."""

_SECURE = "https://"


class ConsentRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A client's request for access, after all checks."""

    client: Client
    scopes: tuple[str, ...]
    redirect_uri: str
    named_redirect_uri: str | None
    """The redirect URI of the request; None if the request did not contain one."""
    code_challenge: str | None = None
    nonce: str | None = None


class Consents:
    """Decides whether a person has to be asked for consent, and makes grants."""

    def __init__(self, store: TokenStore, clock: Clock, mint: TokenMint, lifetimes: Lifetimes, notes: AuditNotes) -> None:
        self._store = store
        self._clock = clock
        self._mint = mint
        self._lifetimes = lifetimes
        self._notes = notes

    async def must_ask(self, user: User, asked: ConsentRequest) -> bool:
        """Whether the person has to be asked. This is not needed if they granted all these scopes to this client before.

        For offline access the person is always asked. The same is true for a client that another program could impersonate: a
        client without a secret whose redirect URI any program on the machine could use (RFC 8252 §8.6).
        """
        client = asked.client
        if client.id == PAGES_CLIENT:
            return False  # It is the gateway itself (Decision 0076).
        if IdentityScope.OFFLINE_ACCESS in asked.scopes:
            return True
        if not client.confidential and not asked.redirect_uri.startswith(_SECURE):
            return True
        # A grant without a login time was made by an operator, not by this person.
        granted = [
            set(grant.scopes)
            for grant in await self._store.list_grants(user.id)
            if grant.client_id == client.id and grant.auth_time is not None
        ]
        return not any(scopes.issuperset(asked.scopes) for scopes in granted)

    async def grant_code(
        self, user: User, session: Session, asked: ConsentRequest, scopes: Sequence[str], address: str = ""
    ) -> str:
        """Return the code that the client redeems. The store keeps only its hash."""
        grant = self._new_grant(user, session, asked, scopes, GrantType.AUTHORIZATION_CODE)
        refused_offline = IdentityScope.OFFLINE_ACCESS in set(asked.scopes) - set(scopes)
        value = (ONLINE if refused_offline else "") + new_secret()
        code = AuthorizationCode(
            code_hash=hash_secret(value),
            grant_id=grant.id,
            client_id=asked.client.id,
            expires_at=self._clock.now() + self._lifetimes.code,
            redirect_uri=asked.named_redirect_uri,
            code_challenge=asked.code_challenge,
            nonce=asked.nonce,
        )
        await self._store.add_code(grant, code)
        self._notes.granted(grant, address)
        return value

    async def grant_tokens(
        self, user: User, session: Session, asked: ConsentRequest, scopes: Sequence[str], address: str = ""
    ) -> TokenSet:
        """Issue the tokens of the implicit flow: an access token, but no refresh token (OpenID Connect Core §3.2.2.5)."""
        grant = await self._grant_implicit(user, session, asked, scopes, address)
        return await self._mint.mint(user, asked.client, grant, nonce=asked.nonce)

    async def grant_id_token(
        self, user: User, session: Session, asked: ConsentRequest, scopes: Sequence[str], address: str = ""
    ) -> str:
        """Issue an id token without an access token, for the implicit flow."""
        grant = await self._grant_implicit(user, session, asked, scopes, address)
        return await self._mint.mint_id_token(user, asked.client, grant, nonce=asked.nonce)

    def note_denial(self, user: User, client: Client, address: str = "") -> None:
        self._notes.denied(user.id, client.id, address)

    async def _grant_implicit(
        self, user: User, session: Session, asked: ConsentRequest, scopes: Sequence[str], address: str
    ) -> Grant:
        grant = self._new_grant(user, session, asked, scopes, GrantType.IMPLICIT)
        await self._store.add_grant(grant)
        self._notes.granted(grant, address)
        return grant

    def _new_grant(self, user: User, session: Session, asked: ConsentRequest, scopes: Sequence[str], flow: GrantType) -> Grant:
        return Grant(
            id=new_id(),
            user_id=user.id,
            client_id=asked.client.id,
            scopes=tuple(scope for scope in asked.scopes if scope in scopes),
            flow=flow,
            created_at=self._clock.now(),
            auth_time=session.auth_time,
            factors=session.factors,
        )
