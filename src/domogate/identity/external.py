"""Tokens of a standard provider instead of, or beside, the gateway's own.

What the issuer proves is who the person is (a verified e-mail) and which client asks for what. Everything else is ours: the
user must exist here and be active, the client must be registered here, and it gets no scope that it is not registered for.
"""

import json
import math
import uuid
from typing import Annotated, Any, Protocol

import msgspec
from joserfc import jws
from joserfc.errors import ExpiredTokenError, InvalidClaimError, JoseError, MissingClaimError
from joserfc.jws import JWSRegistry
from joserfc.jwt import ClaimsOption, JWTClaimsRegistry

from domogate.domain.faults import TokenRefused
from domogate.domain.ids import Id
from domogate.domain.people import GrantType, Principal, TokenKind
from domogate.identity.fetching import JsonFetcher, JsonSource
from domogate.identity.principals import build_principal
from domogate.identity.profiles import IssuerProfile, TokenMark
from domogate.identity.remote_keys import KeysUnavailable, PublicKey, RemoteKeys
from domogate.identity.unverified import UnverifiedHeader, read_header
from domogate.ports import ClientStore, Clock, PeopleStore

__all__ = ["ExternalClaims", "ExternalIssuer", "IssuerProfile", "JsonFetcher", "TokenMark", "find_external_principal"]

_ESSENTIAL: ClaimsOption = {"essential": True}
_NumericDate = Annotated[float, msgspec.Meta(ge=0, lt=2**53)]


class ExternalClaims(msgspec.Struct, frozen=True):
    """What a token of an external issuer says, its signature, times, issuer and audience proven."""

    kind: TokenKind
    issuer: str
    subject: str
    email: str
    client_id: str
    """The client here that stands for the issuer's."""
    scopes: frozenset[str]
    expires_at: float

    @property
    def grant_id(self) -> Id:
        """Stands for the grant that only the issuer knows: the same for all tokens of one person to one client."""
        return Id(str(uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([self.issuer, self.subject, self.client_id]))))


class _Payload(msgspec.Struct, frozen=True):
    sub: str
    aud: str | tuple[str, ...]
    iat: _NumericDate
    exp: _NumericDate


class _Registry(JWSRegistry):
    """The allow-list of one issuer. "EdDSA" is Ed25519 here, and nothing else that it could be (RFC 9864 §2)."""

    def get_alg(self, name: str) -> Any:
        return self.algorithms["Ed25519"] if name == "EdDSA" and name in (self.allowed or ()) else super().get_alg(name)


class ExternalIssuer:
    """Verifies the tokens of one issuer by its profile."""

    def __init__(self, profile: IssuerProfile, http: JsonSource, clock: Clock) -> None:
        self._profile = profile
        self._now = clock.now
        self._keys = RemoteKeys(profile, http, clock)
        # Products put more into a header than the RFCs name; what is critical is still refused.
        self._registry = _Registry(algorithms=list(profile.algorithms), strict_check_header=False)

    @property
    def url(self) -> str:
        return self._profile.url

    async def stop(self) -> None:
        await self._keys.stop()

    async def verify(self, unverified_token: bytes) -> ExternalClaims:
        """Raises TokenRefused."""
        header = read_header(unverified_token)
        if header.alg not in self._profile.algorithms:
            raise TokenRefused(
                f"The token is signed with an algorithm that is not accepted of its issuer; "
                f"{' or '.join(self._profile.algorithms)} is expected."
            )
        payload = await self._verify_signature(unverified_token, header)
        claims = self._check_claims(payload)
        return self._read_claims(header, claims)

    async def _verify_signature(self, unverified_token: bytes, header: UnverifiedHeader) -> bytes:
        payload = self._try_key(unverified_token, await self._find_key(header))
        if payload is None and header.kid is None:
            await self._keys.fetch_again()
            payload = self._try_key(unverified_token, await self._find_key(header))
        if payload is None:
            raise TokenRefused("The token's signature is not valid: the token was changed or cut off.")
        return payload

    async def _find_key(self, header: UnverifiedHeader) -> PublicKey:
        try:
            key = await self._keys.find(header.kid, header.alg)
        except KeysUnavailable:
            raise TokenRefused("The keys of the token's issuer cannot be fetched at the moment: try again later.") from None
        if key is None:
            raise TokenRefused("The token's key (header kid) is not in its issuer's key set, or is for another algorithm.")
        return key

    def _try_key(self, unverified_token: bytes, key: PublicKey) -> bytes | None:
        try:
            return jws.deserialize_compact(unverified_token, key, registry=self._registry).payload or b""
        except (JoseError, ValueError):
            return None

    def _check_claims(self, payload: bytes) -> dict[str, Any]:
        now = self._now()
        try:
            claims: Any = json.loads(payload)
            if not isinstance(claims, dict):
                raise TokenRefused("The token's payload is not a JSON object.")
            options: dict[str, ClaimsOption] = {"sub": _ESSENTIAL, "aud": _ESSENTIAL, "exp": _ESSENTIAL, "iat": _ESSENTIAL}
            issuer: ClaimsOption = {"essential": True, "value": self._profile.url}
            # Rounding the leeway up is safe: `exp` is compared once more, without any.
            JWTClaimsRegistry(now=int(now), leeway=math.ceil(self._profile.leeway), iss=issuer, **options).validate(claims)
            said = msgspec.convert(claims, _Payload)
        except ExpiredTokenError:
            raise TokenRefused("The token has expired: get a new one.") from None
        except MissingClaimError as error:
            raise TokenRefused(f"The token lacks what it must say: {error.claim}.") from None
        except InvalidClaimError as error:
            raise TokenRefused(f"The token's claim {error.claim} is not as it must be (nbf, iat: not valid yet).") from None
        except (ValueError, RecursionError):
            raise TokenRefused("The token's payload does not hold the claims of a token, or not of their types.") from None
        if said.exp <= now:
            raise TokenRefused("The token has expired: get a new one.")
        if not 0 < said.exp - said.iat <= self._profile.max_lifetime:
            raise TokenRefused(f"The token lives (iat to exp) for no time or for more than {self._profile.max_lifetime:g} s.")
        return claims

    def _read_claims(self, header: UnverifiedHeader, claims: dict[str, Any]) -> ExternalClaims:
        profile = self._profile
        kind = profile.find_kind(header.typ, claims)
        if kind is None:
            raise TokenRefused("The token is neither an access token nor an id token of its issuer, or could be both.")
        audience = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
        client = profile.find_client(claims)
        if kind is TokenKind.ACCESS:
            if not set(audience) & set(profile.audiences):
                raise TokenRefused("The token is for another audience: aud must name this gateway.")
            ours = profile.clients.get(client or "", profile.any_client)
        else:
            # OpenID Connect Core §3.1.3.7: it must be for a client that is known, and so must whoever it was made for.
            if client is None and len(audience) == 1:
                client = audience[0]
            known = set(audience) & profile.clients.keys()
            ours = profile.clients.get(client or "") if known else None
        if ours is None:
            raise TokenRefused("The token is for a client that is not accepted of its issuer.")
        email = profile.find_email(claims)
        if email is None:
            raise TokenRefused("The token names no e-mail for which its issuer vouches, so its user is not known.")
        return ExternalClaims(kind, profile.url, claims["sub"], email, ours, profile.map_scopes(claims), float(claims["exp"]))


class PrincipalStore(PeopleStore, ClientStore, Protocol):
    """The users and clients that tokens name."""


async def find_external_principal(store: PrincipalStore, claims: ExternalClaims) -> Principal:
    """The user and the client here. Raises TokenRefused."""
    user = await store.find_user_by_email(claims.email)
    if user is None or not user.active:
        raise TokenRefused("The token's user does not exist here, or is not active yet.")
    client = await store.find_client(claims.client_id)
    if client is None:
        raise TokenRefused("The token's client is not registered here.")
    return build_principal(claims, user, client, allowed=client.scopes, flow=GrantType.AUTHORIZATION_CODE)
