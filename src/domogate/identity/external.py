"""Verifies tokens of external issuers. The gateway can accept them instead of its own tokens, or in addition to its own tokens.

The token says who the person is, which client it is for, and which scopes it has. The claim `sub` names the person. For the
first token of a person, the gateway finds the user by the e-mail address. The gateway then uses its own data: the user must be
active, and the client must be registered. The client gets only the scopes that it is registered for.
"""

import math
from typing import Any, Protocol

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jws import JWSRegistry
from joserfc.jwt import ClaimsOption, JWTClaimsRegistry

from domogate.domain.faults import TokenRefused
from domogate.domain.login_names import is_login_name_email
from domogate.domain.people import GrantType, Principal, TokenKind
from domogate.identity.claims import ESSENTIAL, CommonClaims, check_claims
from domogate.identity.fetching import JsonFetcher, JsonSource
from domogate.identity.principals import ExternalClaims, build_principal
from domogate.identity.profiles import IssuerProfile, TokenMark
from domogate.identity.remote_keys import KeysUnavailable, PublicKey, RemoteKeys
from domogate.identity.unverified import UnverifiedHeader, read_header
from domogate.ports import ClientStore, Clock, ExternalAccountStore, PeopleStore

__all__ = ["ExternalClaims", "ExternalIssuer", "IssuerProfile", "JsonFetcher", "TokenMark", "find_external_principal"]


_LONGEST_SUBJECT = 255
"""The longest `sub` that OpenID Connect Core §2 allows."""


class _Registry(JWSRegistry):
    """The signature algorithms that one issuer may use. "EdDSA" means only Ed25519 (RFC 9864 §2)."""

    def get_alg(self, name: str) -> Any:
        return self.algorithms["Ed25519"] if name == "EdDSA" and name in (self.allowed or ()) else super().get_alg(name)


class ExternalIssuer:
    """Verifies the tokens of one issuer. `profile` describes the issuer and the form of its tokens."""

    def __init__(self, profile: IssuerProfile, http: JsonSource, clock: Clock) -> None:
        self._profile = profile
        self._now = clock.now
        self._keys = RemoteKeys(profile, http, clock)
        # Products add their own header members, so unknown members are accepted. Unknown critical members are still refused.
        self._registry = _Registry(algorithms=list(profile.algorithms), strict_check_header=False)

    @property
    def url(self) -> str:
        return self._profile.url

    async def stop(self) -> None:
        await self._keys.stop()

    async def verify(self, unverified_token: bytes) -> ExternalClaims:
        """Check the signature and the claims of the token (times, audience, kind, client, e-mail address). Return the claims.

        Raises TokenRefused if a check fails, or if the keys of the issuer cannot be fetched.
        """
        header = read_header(unverified_token)
        if header.alg not in self._profile.algorithms:
            raise TokenRefused(
                f"The token is signed with an algorithm that is not accepted for its issuer; "
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
            raise TokenRefused("The token's signature is not valid: the token was changed or truncated.")
        return payload

    async def _find_key(self, header: UnverifiedHeader) -> PublicKey:
        try:
            key = await self._keys.find(header.kid, header.alg)
        except KeysUnavailable:
            raise TokenRefused("The keys of the token's issuer cannot be fetched now: try again later.") from None
        if key is None:
            raise TokenRefused("The token's key (header kid) is not in its issuer's key set, or is for another algorithm.")
        return key

    def _try_key(self, unverified_token: bytes, key: PublicKey) -> bytes | None:
        try:
            return jws.deserialize_compact(unverified_token, key, registry=self._registry).payload or b""
        except (JoseError, ValueError, TypeError):  # TypeError: `crit` in the header is not a list of texts
            return None

    def _check_claims(self, payload: bytes) -> dict[str, Any]:
        now, profile = self._now(), self._profile
        issuer: ClaimsOption = {"essential": True, "value": profile.url}
        # Rounding up is safe: `exp` is compared again without leeway.
        leeway = math.ceil(profile.leeway)
        options = dict.fromkeys(("sub", "aud", "exp", "iat"), ESSENTIAL)
        registry = JWTClaimsRegistry(now=int(now), leeway=leeway, iss=issuer, **options)
        claims, typed = check_claims(
            payload,
            registry,
            CommonClaims,
            now,
            lambda claim: f"The token's claim {claim} is wrong (nbf or iat: the token is not valid yet).",
        )
        if not 0 < typed.exp - typed.iat <= profile.max_lifetime:
            raise TokenRefused(f"The token's lifetime (iat to exp) must be positive and at most {profile.max_lifetime:g} s.")
        return claims

    def _read_claims(self, header: UnverifiedHeader, claims: dict[str, Any]) -> ExternalClaims:
        profile = self._profile
        kind = profile.find_kind(header.typ, claims)
        if kind is None:
            raise TokenRefused("The gateway cannot tell whether the token is an access token or an id token of its issuer.")
        audience = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
        client = profile.find_client(claims)
        if kind is TokenKind.ACCESS:
            if not set(audience) & set(profile.audiences):
                raise TokenRefused("The token is for another audience: aud must name this gateway.")
            ours = profile.clients.get(client or "", profile.any_client)
        else:
            # OpenID Connect Core §3.1.3.7: the audience and the authorized party must be known clients.
            if client is None and len(audience) == 1:
                client = audience[0]
            known = set(audience) & profile.clients.keys()
            ours = profile.clients.get(client or "") if known else None
        if ours is None:
            raise TokenRefused("The token is for a client that is not accepted for its issuer.")
        if not (len(claims["sub"]) <= _LONGEST_SUBJECT and claims["sub"].isprintable()):
            raise TokenRefused(f"The token's subject (sub) must be at most {_LONGEST_SUBJECT} printable characters.")
        email = profile.find_email(claims)
        if email is None or is_login_name_email(email):
            raise TokenRefused("The token has no verified e-mail, so its user is not known.")
        return ExternalClaims(kind, profile.url, claims["sub"], email, ours, profile.map_scopes(claims), float(claims["exp"]))


class PrincipalStore(PeopleStore, ExternalAccountStore, ClientStore, Protocol):
    """The parts of the store with the users and clients that tokens name."""


async def find_external_principal(store: PrincipalStore, claims: ExternalClaims, now: float) -> Principal:
    """Return the principal of an external token: find its user and its client.

    Raises TokenRefused if there is no such client, or no such active user.

    The first accepted token of an account at the external issuer binds the account to the user with the same e-mail address
    (Decision 0061). A token whose client is not registered binds nothing.
    """
    client = await store.find_client(claims.client_id)
    if client is None:
        raise TokenRefused("The token's client is not registered here.")
    account = (claims.issuer, claims.subject)
    user = await store.find_external_user(*account)
    if user is None and await _can_bind(store, claims):
        user = await store.bind_external_account(*account, claims.email, now)
    if user is None or not user.active:
        raise TokenRefused(
            "The token's user does not exist here, is not active yet, or is bound to another account of the token's issuer."
        )
    return build_principal(claims, user, client, allowed=client.scopes, flow=GrantType.AUTHORIZATION_CODE)


async def _can_bind(store: PrincipalStore, claims: ExternalClaims) -> bool:
    """Whether there is an active user to whom the account at the external issuer can be bound.

    `bind_external_account` checks this again, but it is a write. This function runs first, so requests of an account without
    a user cause no write.
    """
    user = await store.find_user_by_email(claims.email)
    if user is None or not user.active:
        return False
    return all(bound.issuer != claims.issuer for bound in await store.list_external_accounts(user.id))
