"""Answers requests for information about tokens (userinfo, introspection), and revokes tokens."""

import base64
import json
from collections.abc import Collection
from typing import Any

from domogate.common.secrets import hash_secret
from domogate.domain.authorization import RefreshToken
from domogate.domain.faults import TokenRefused
from domogate.domain.ids import Id
from domogate.domain.people import Client, IdentityScope, Principal, TokenKind
from domogate.ports import Clock, Verifier
from domogate.services.authorization.audit_notes import AuditNotes
from domogate.services.authorization.exchange import ExchangeStore
from domogate.services.authorization.faults import OAuthError, OAuthFault

_INACTIVE = {"active": False}


class TokenInspection:
    """Gives information about issued tokens, and revokes them."""

    def __init__(self, store: ExchangeStore, verifier: Verifier, clock: Clock, notes: AuditNotes, issuer: str) -> None:
        self._store = store
        self._verifier = verifier
        self._clock = clock
        self._notes = notes
        self._issuer = issuer

    async def read_userinfo(self, unverified_token: str) -> dict[str, Any]:
        """Return the claims that the scopes of the access token allow (OpenID Connect Core §5.3, §5.4).

        Raises OAuthFault if the token is not a valid access token, or lacks the scope `openid`. Also raises OAuthFault if the
        user of the token does not exist.
        """
        try:
            principal = await self._verify(unverified_token)
        except TokenRefused as refused:
            raise OAuthFault(OAuthError.INVALID_TOKEN, refused.message) from None
        if principal.kind is not TokenKind.ACCESS:
            raise OAuthFault(OAuthError.INVALID_TOKEN, "This is an id token; userinfo takes an access token.")
        if IdentityScope.OPENID not in principal.scopes:
            raise OAuthFault(OAuthError.INSUFFICIENT_SCOPE, "The access token lacks the scope openid.")
        user = await self._store.find_user(principal.user_id)
        if user is None:
            raise OAuthFault(OAuthError.INVALID_TOKEN, "The user of this token does not exist here.")
        claims: dict[str, Any] = {"sub": user.id}
        if IdentityScope.PROFILE in principal.scopes:
            claims |= user.profile
        if IdentityScope.EMAIL in principal.scopes:
            claims |= {"email": user.email, "email_verified": user.email_verified}
        return claims

    async def introspect(self, client: Client, unverified_token: str) -> dict[str, Any]:
        """Return whether a token is active, and its claims (RFC 7662 §2.2).

        A token of another client is reported as inactive.
        """
        found = await self._find(unverified_token)
        if isinstance(found, RefreshToken):
            return await self._introspect_refresh_token(client, found)
        if found is None or found.client_id != client.id:
            return _INACTIVE
        # The token was verified by `_find`.
        claims = _read_claims(unverified_token)
        return {
            "active": True,
            "scope": " ".join(sorted(found.scopes)),
            "client_id": found.client_id,
            "token_type": "Bearer",
            "token_kind": found.kind.value,
            "exp": int(found.expires_at),
            **{claim: claims[claim] for claim in ("iss", "sub", "iat", "aud", "jti") if claim in claims},
            **await self._name(found.user_id, found.scopes),
        }

    async def revoke(self, client: Client, unverified_token: str, address: str = "") -> None:
        """Revoke a token (RFC 7009): end its grant and all tokens of this grant.

        An unknown or invalid token is ignored, and the answer is 200 (RFC 7009 §2.2). A token whose start time is in the
        future is ignored too. No gateway issues such a token, because all gateways of a cluster use the clock of the database
        (Decision 0096). An access token of an external issuer has no grant here, so it is ignored too. Raises OAuthFault for an
        id token and for a token of another client.
        """
        found = await self._find(unverified_token)
        if found is None:
            return
        if found.client_id != client.id:
            raise OAuthFault(OAuthError.INVALID_GRANT, "The token was not issued to this client.")
        if isinstance(found, Principal) and found.kind is TokenKind.ID:
            raise OAuthFault(OAuthError.UNSUPPORTED_TOKEN_TYPE, "Revoke the access token or the refresh token instead.")
        if await self._store.revoke_grant(found.grant_id, self._clock.now()):
            self._notes.revoked(client.id, found.grant_id, address)

    async def _introspect_refresh_token(self, client: Client, token: RefreshToken) -> dict[str, Any]:
        grant = await self._store.find_grant(token.grant_id)
        if (
            token.client_id != client.id
            or token.replaced_at is not None
            or token.expires_at <= self._clock.now()
            or grant is None
            or grant.revoked_at is not None
        ):
            return _INACTIVE
        scopes = client.limit_scopes(grant.scopes)
        return {
            "active": True,
            "scope": " ".join(sorted(scopes)),
            "client_id": token.client_id,
            "token_kind": "refresh",
            "iat": int(token.created_at),
            "exp": int(token.expires_at),
            "sub": grant.user_id,
            "iss": self._issuer,
            **await self._name(grant.user_id, scopes),
        }

    async def _name(self, user_id: Id, scopes: Collection[str]) -> dict[str, str]:
        """Return the e-mail address as the claim `username`. Return no claim if the scopes do not allow the e-mail address."""
        user = await self._store.find_user(user_id) if IdentityScope.EMAIL in scopes else None
        return {} if user is None else {"username": user.email}

    async def _find(self, unverified_token: str) -> Principal | RefreshToken | None:
        # Only a signed token contains dots, so token_type_hint is not needed (RFC 7009 §2.1).
        if "." not in unverified_token:
            return await self._store.find_refresh_token(hash_secret(unverified_token))
        try:
            return await self._verify(unverified_token)
        except TokenRefused:
            return None

    async def _verify(self, unverified_token: str) -> Principal:
        token = unverified_token.encode("utf-8", "surrogatepass")
        return self._verifier.find_verified(token) or await self._verifier.verify(token)


def _read_claims(verified_token: str) -> dict[str, Any]:
    payload = verified_token.split(".")[1]
    claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return claims
