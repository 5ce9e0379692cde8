"""Makes the tokens of a grant, and sets their lifetimes."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from domogate.common.secrets import hash_secret
from domogate.domain.authorization import RefreshToken
from domogate.domain.ids import Id
from domogate.domain.people import Client, Grant, TokenKind, User
from domogate.ports import Clock, Signer
from domogate.services.authorization.secrets import half_hash


class Lifetimes(msgspec.Struct, frozen=True, kw_only=True):
    """The lifetimes of tokens and codes, in seconds. Each lifetime is a setting (Decision 0023)."""

    access: float = 3600.0
    id: float = 3600.0
    code: float = 60.0
    refresh: float = 90 * 86_400.0
    refresh_grace: float = 10.0


class TokenSet(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of a token response (RFC 6749 §5.1, OpenID Connect Core §3.1.3.3, Decision 0023)."""

    access_token: str
    token_type: str
    expires_in: int
    expires_on: int
    scope: str
    refresh_token: str | None = None
    id_token: str | None = None


class TokenMint:
    """Makes the tokens of a grant. There is always an id token, because most families require it (Spec 5.2)."""

    def __init__(self, signer: Signer, clock: Clock, lifetimes: Lifetimes) -> None:
        self._signer = signer
        self._clock = clock
        self._lifetimes = lifetimes

    async def mint(
        self,
        user: User,
        client: Client,
        grant: Grant,
        *,
        nonce: str | None = None,
        scopes: Sequence[str] | None = None,
        refresh_token: str | None = None,
    ) -> TokenSet:
        """Make the access token and the id token of a token response.

        `scopes` is a subset of the grant's scopes, for these tokens only (RFC 6749 §6). If `scopes` is None, the tokens have
        all scopes of the grant that the client may still have. `refresh_token` is added to the response unchanged.
        """
        grant = _limit(grant if scopes is None else msgspec.structs.replace(grant, scopes=tuple(scopes)), client)
        lifetime = self._lifetimes.access
        expires_on = int(self._clock.now() + lifetime)
        access_token = await self._signer.mint_token(TokenKind.ACCESS, user, client, grant, lifetime)
        extra = {"at_hash": half_hash(access_token), **self._login_claims(grant, nonce)}
        return TokenSet(
            access_token=access_token,
            token_type="Bearer",
            expires_in=int(lifetime),
            expires_on=expires_on,
            scope=" ".join(grant.scopes),
            refresh_token=refresh_token,
            id_token=await self._signer.mint_token(TokenKind.ID, user, client, grant, self._lifetimes.id, extra),
        )

    async def mint_id_token(self, user: User, client: Client, grant: Grant, *, nonce: str | None) -> str:
        """Make an id token for response_type id_token. It has no at_hash, because there is no access token."""
        extra = self._login_claims(grant, nonce)
        return await self._signer.mint_token(TokenKind.ID, user, client, _limit(grant, client), self._lifetimes.id, extra)

    def refresh_token_of(self, grant: Grant, value: str) -> RefreshToken:
        return msgspec.structs.replace(self.successor_of(grant.client_id, value), grant_id=grant.id)

    def successor_of(self, client_id: str, value: str) -> RefreshToken:
        """Return the record of the new refresh token `value`, which replaces an older refresh token.

        The new token has no grant yet. The store gives it the grant of the older token.
        """
        now = self._clock.now()
        return RefreshToken(hash_secret(value), Id(""), client_id, now, now + self._lifetimes.refresh)

    def _login_claims(self, grant: Grant, nonce: str | None) -> Mapping[str, Any]:
        """Return the claims about the login (OpenID Connect Core §2).

        After a refresh they are the same as before, without the nonce (§12.2).
        """
        claims: dict[str, Any] = {}
        if nonce is not None:
            claims["nonce"] = nonce
        if grant.auth_time is not None:
            claims["auth_time"] = int(grant.auth_time)
        if grant.factors:
            claims["amr"] = grant.factors
        return claims


def _limit(grant: Grant, client: Client) -> Grant:
    """Return a copy of the grant without the scopes that the client may not have now. The stored grant keeps all its scopes."""
    return msgspec.structs.replace(grant, scopes=client.limit_scopes(grant.scopes))
