"""Verifies tokens: the unverified text becomes Claims, and the Claims become a Principal.

A token is verified once. The verifier checks its form, algorithm, key and signature. Then it checks its issuer, audience and
times, and then its user, client and grant. The result is cached by the token's SHA-256 until the token expires. Some changes in
the change feed remove the result earlier: changes of its user, client or grant, or of the signing keys. A token of an external
issuer is verified with the keys and rules of this issuer (external.py). Its result is also cached.
"""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwt import ClaimsOption, JWTClaimsRegistry

from domogate.common.feed_cache import FeedCache
from domogate.common.secrets import digest_secret
from domogate.domain.events import Change, ChangesLost, ClientChanged, GrantRevoked, SigningKeysChanged, UserChanged
from domogate.domain.faults import TokenRefused
from domogate.domain.ids import DASHED_UUID
from domogate.domain.people import Claims, Principal, TokenKind
from domogate.identity.claims import ESSENTIAL, CommonClaims, check_claims
from domogate.identity.external import ExternalIssuer, PrincipalStore, find_external_principal
from domogate.identity.loaded_keys import GENERATORS
from domogate.identity.principals import build_principal
from domogate.identity.signing import TYP_OF_KIND, KeyRing
from domogate.identity.unverified import read_header, read_issuer
from domogate.ports import Clock, GrantStore

# Media types are case-insensitive, and "application/" is optional (RFC 7515 §4.1.9, RFC 9068 §4).
_KIND_OF_TYP: Mapping[str, TokenKind] = MappingProxyType(
    {typ.lower(): kind for kind, typ in TYP_OF_KIND.items()}
    | {f"application/{typ.lower()}": kind for kind, typ in TYP_OF_KIND.items()}
)


class TokenSubjectStore(PrincipalStore, GrantStore, Protocol):
    """The parts of the store with the grants, users and clients that tokens name."""


class _OwnClaims(CommonClaims, frozen=True):
    """The claims of the gateway's own tokens."""

    grant: str
    scope: str
    client_id: str | None = None


class TokenVerifier:
    """Verifies tokens of the gateway and of external issuers. Register `apply` as a listener of the store."""

    def __init__(
        self,
        keyring: KeyRing,
        store: TokenSubjectStore,
        clock: Clock,
        issuer: str,
        audience: str,
        *,
        cache_size: int = 20_000,
        leeway: float = 2.0,
        others: Sequence[ExternalIssuer] = (),
        own: bool = True,
    ) -> None:
        """`leeway` is the number of seconds by which the clock of another gateway may be ahead.

        The leeway does not make a token valid for longer. `others` are external issuers whose tokens are accepted. If `own`
        is false, tokens of this gateway are refused.
        """
        self._keyring = keyring
        self._knowledge = keyring.knowledge
        self._store = store
        self._now = clock.now
        self._issuer = issuer
        self._audience = audience
        self._leeway = leeway
        self._verified: FeedCache[bytes, Principal] = FeedCache(
            capacity=cache_size,
            tags_of=lambda principal: (principal.user_id, principal.client_id, principal.grant_id),
            invalidated_by={
                UserChanged: lambda event: (event.user_id,),
                ClientChanged: lambda event: (event.client_id,),
                GrantRevoked: lambda event: (event.grant_id,),
                SigningKeysChanged: lambda _: None,
                ChangesLost: lambda _: None,
            },
        )
        self._own = own
        self._others = {other.url: other for other in others}
        if len(self._others) < len(others) or issuer in self._others:
            raise ValueError("each issuer may be given only once, and the gateway itself must not be among them")

    def find_verified(self, unverified_token: bytes) -> Principal | None:
        if self._knowledge is not None and not self._knowledge.is_kept:
            return None  # `verify` waits for the latest changes.
        principal = self._verified.find(digest_secret(unverified_token))
        if principal is not None and principal.expires_at > self._now():
            return principal
        return None

    async def verify(self, unverified_token: bytes) -> Principal:
        if self._knowledge is not None:
            await self._knowledge.wait()
        digest = digest_secret(unverified_token)
        if self.find_verified(unverified_token) is None:
            self._verified.drop(digest)  # A token that was verified before may have expired.
        principal = await self._verified.get(digest, lambda: self._verify_now(unverified_token))
        assert principal is not None, "a token that is not valid is refused"
        return principal

    def apply(self, changes: Sequence[Change]) -> None:
        self._verified.apply(changes)

    async def _verify_now(self, unverified_token: bytes) -> Principal:
        other = self._others.get(read_issuer(unverified_token) or "") if self._others else None
        if other is not None:
            return await find_external_principal(self._store, await other.verify(unverified_token), self._now())
        if not self._own:
            raise TokenRefused("The token's issuer is not accepted here.")
        return await self._find_principal(await self._verify_claims(unverified_token))

    async def _verify_claims(self, unverified_token: bytes) -> Claims:
        header = read_header(unverified_token)
        if header.alg not in GENERATORS:
            raise TokenRefused(f"The token is signed with an unsupported algorithm; {' or '.join(GENERATORS)} is expected.")
        kind = _KIND_OF_TYP.get((header.typ or "").lower())
        if kind is None:
            raise TokenRefused(
                "The token is neither an access token (header typ at+jwt) nor an id token (typ JWT) of this gateway."
            )
        key = None if header.kid is None else await self._keyring.find_key(header.kid)
        if key is None:
            raise TokenRefused("The token's key (header kid) is unknown here: it is not in this gateway's key set.")
        if key.algorithm != header.alg:
            raise TokenRefused(f"The token's algorithm differs from that of its key, {key.algorithm}.")
        try:
            payload = jws.deserialize_compact(unverified_token, key.key, algorithms=[key.algorithm]).payload
        except (JoseError, ValueError, TypeError):  # TypeError: `crit` in the header is not a list of texts
            raise TokenRefused("The token's signature is not valid: the token was changed or truncated.") from None
        return self._check_claims(kind, payload or b"")

    def _check_claims(self, kind: TokenKind, payload: bytes) -> Claims:
        now = self._now()
        _, said = check_claims(payload, self._registry(kind, now), _OwnClaims, now, lambda claim: self._explain(claim, kind))
        if said.exp <= said.iat:
            raise TokenRefused("The token must expire (exp) after it was issued (iat).")
        user_id, grant_id = DASHED_UUID.parse_id(said.sub), DASHED_UUID.parse_id(said.grant)
        client_id = said.client_id if kind is TokenKind.ACCESS else _only(said.aud)
        if user_id is None or grant_id is None or client_id is None:
            raise TokenRefused("The token does not name one user, one client and one grant of this gateway.")
        return Claims(user_id, client_id, grant_id, kind, frozenset(said.scope.split()), said.exp)

    def _registry(self, kind: TokenKind, now: float) -> JWTClaimsRegistry:
        options: dict[str, ClaimsOption] = {
            "iss": {"essential": True, "value": self._issuer},
            "sub": ESSENTIAL,
            "aud": ESSENTIAL,
            "exp": ESSENTIAL,
            "iat": ESSENTIAL,
            "grant": ESSENTIAL,
            "scope": {"essential": True, "allow_blank": True},
        }
        if kind is TokenKind.ACCESS:
            options |= {"aud": {"essential": True, "value": self._audience}, "client_id": ESSENTIAL}
        # Rounding up is safe: `exp` is compared again without leeway.
        return JWTClaimsRegistry(now=int(now), leeway=math.ceil(self._leeway), **options)

    def _explain(self, claim: str, kind: TokenKind) -> str:
        if claim == "iss":
            return f"The token is from another issuer: iss must be exactly {self._issuer}."
        if claim == "aud" and kind is TokenKind.ACCESS:
            return f"The token is for another audience: aud must be {self._audience}."
        if claim in ("nbf", "iat"):
            return f"The token is not valid yet ({claim}): check the clock of its issuer."
        return f"The token's claim {claim} is wrong."

    async def _find_principal(self, claims: Claims) -> Principal:
        grant = await self._store.find_grant(claims.grant_id)
        if grant is None or (grant.user_id, grant.client_id) != (claims.user_id, claims.client_id):
            raise TokenRefused("The token does not belong to a grant of its user to its client.")
        if grant.revoked_at is not None:
            raise TokenRefused("The token was revoked: its user must give the client access again.")
        client = await self._store.find_client(claims.client_id)
        if client is None:
            raise TokenRefused("The token's client is not registered here.")
        user = await self._store.find_user(claims.user_id)
        if user is None:
            raise TokenRefused("The token's user does not exist here.")
        allowed = client.limit_scopes(grant.scopes)
        return build_principal(claims, user, client, allowed=allowed, flow=grant.flow, plants=grant.plants)


def _only(audience: str | tuple[str, ...]) -> str | None:
    """Return the only audience of an id token: its client (OpenID Connect Core §2).

    In the token, the audience is a text, or an array with one text. Return None if the array does not have exactly one text.
    """
    if isinstance(audience, str):
        return audience
    return audience[0] if len(audience) == 1 else None
