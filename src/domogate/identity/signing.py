"""The gateway's signing keys and tokens. The keys are in the store, so all gateways of the store use the same keys.

A key is published when it is added. It signs from `created_at`, which may be in the future, until `retired_at`. It verifies
until its last token has expired. So only the time decides which key signs, and all gateways change the key at the same time
(rotation.py).
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from domogate.common.base64url import decode_base64url
from domogate.common.feed_cache import FeedCache
from domogate.domain.events import Change, ChangesLost, SigningKeysChanged
from domogate.domain.faults import TokenRefused
from domogate.domain.people import Client, Grant, IdentityScope, TokenKind, User
from domogate.identity.knowledge import KnowledgeBound
from domogate.identity.loaded_keys import GENERATORS, LoadedKey, load_key
from domogate.identity.rotation import DISTRUSTED, change_algorithm
from domogate.identity.unverified import read_header
from domogate.ports import Clock, SigningKeyStore

# The header `typ` of each kind of token. A ticket has a different `typ`, so that it cannot be used as a token (RFC 8725 §3.11).
TYP_OF_KIND: Mapping[TokenKind, str] = MappingProxyType({TokenKind.ACCESS: "at+jwt", TokenKind.ID: "JWT"})

_UNKNOWN_KID_PAUSE = 1.0
_ALL_KEYS = "all keys"


class _Choice(NamedTuple):
    """The key that signs between two times, `since` and `until`, if the loaded keys stay the same."""

    keys: dict[str, LoadedKey]
    since: float
    until: float
    current: LoadedKey


class KeyRing:
    """All signing keys of the store. Register `apply` as a listener of the store."""

    def __init__(
        self,
        store: SigningKeyStore,
        clock: Clock,
        *,
        algorithm: str = "ES256",
        retired_kept: float = 86_400.0,
        knowledge: KnowledgeBound | None = None,
    ) -> None:
        """`start` changes to a signing key with this `algorithm`.

        For `retired_kept` seconds, tokens of a retired key are still accepted. `retired_kept` must be at least the longest
        lifetime of a token. `knowledge` says whether the data of this gateway are too old. If they are, no token and no ticket
        is verified.
        """
        if algorithm not in GENERATORS:
            raise ValueError(f"unsupported signing algorithm {algorithm!r}, choose one of {', '.join(GENERATORS)}")
        self._store = store
        self._clock = clock
        self._algorithm = algorithm
        self._retired_kept = retired_kept
        self.knowledge = knowledge
        self._keys: FeedCache[str, dict[str, LoadedKey]] = FeedCache(
            self._fetch_keys, capacity=1, invalidated_by={SigningKeysChanged: lambda _: None, ChangesLost: lambda _: None}
        )
        self._unknown_kid_at = -inf
        self._choice: _Choice | None = None

    async def start(self, *, is_gateway: bool = True) -> None:
        """Change to a key with the algorithm that `__init__` got (`change_algorithm`).

        A process that is not a gateway changes the key only if all keys are retired, or if there is no key. The reason: its
        setting of the algorithm may differ from the setting of the gateway.
        """
        keys = (await self._load_keys()).values()
        if is_gateway or self._choose(keys, self._clock.now()) is None:
            await change_algorithm(self._store, self._clock, self._algorithm)
            self._keys.clear()
        await self.find_current()

    def apply(self, changes: Sequence[Change]) -> None:
        """Forget the loaded keys if signing keys have changed, or if changes were lost. The next use reads the keys again."""
        self._keys.apply(changes)

    async def find_current(self) -> LoadedKey:
        """Return the key to sign with now. Raises LookupError if all keys are retired, or if the store has no key."""
        keys, now = await self._load_keys(), self._clock.now()
        choice = self._choice
        if choice is None or choice.keys is not keys or not choice.since <= now < choice.until:
            current = self._choose(keys.values(), now)
            if current is None:
                raise LookupError("the store has no signing key in use")
            times = [time for key in keys.values() for time in (key.created_at, key.retired_at) if time is not None]
            since = max([time for time in times if time <= now], default=-inf)
            until = min([time for time in times if time > now], default=inf)
            choice = self._choice = _Choice(keys, since, until, current)
        return choice.current

    async def find_server_secret(self) -> bytes:
        """Return the server secret, from which other secrets are derived, for example new refresh tokens.

        The server secret itself is derived from the oldest signing key that is not distrusted.

        A planned rotation does not change this secret. An emergency rotation replaces it.
        """
        return next(key.server_secret for key in (await self._load_keys()).values() if key.retired_at != DISTRUSTED)

    async def find_key(self, kid: str) -> LoadedKey | None:
        """Return the key with this id if its signatures are still accepted. Otherwise return None.

        Raises Internal if this gateway possibly does not know the latest changes of the keys (`KnowledgeBound.wait`).
        """
        if self.knowledge is not None:
            await self.knowledge.wait()
        keys = await self._load_keys()
        now = self._clock.now()
        # Another gateway may have signed with a key that the change feed has not reported yet.
        if kid not in keys and abs(now - self._unknown_kid_at) >= _UNKNOWN_KID_PAUSE:
            self._unknown_kid_at = now
            self._keys.clear()
            keys = await self._load_keys()
        key = keys.get(kid)
        return key if key is not None and self._verifies(key, now) else None

    async def list_keys(self) -> tuple[LoadedKey, ...]:
        """Return all keys that still verify tokens. The oldest key is first."""
        keys = await self._load_keys()
        now = self._clock.now()
        return tuple(key for key in keys.values() if self._verifies(key, now))

    def _verifies(self, key: LoadedKey, now: float) -> bool:
        return key.algorithm in GENERATORS and (key.retired_at is None or now < key.retired_at + self._retired_kept)

    def _choose(self, keys: Iterable[LoadedKey], now: float) -> LoadedKey | None:
        """Return the newest key that may sign now.

        If no key may sign yet, our clock is behind the clock of the gateway that made the keys. Then the oldest key that is not
        retired is returned. Return None if all keys are retired, or if there is no key.
        """
        valid = [key for key in keys if key.algorithm in GENERATORS and (key.retired_at is None or now < key.retired_at)]
        begun = [key for key in valid if key.signs(now)]
        if not begun:  # Our clock is behind the clock of the gateway that made the keys.
            return min(valid, key=lambda key: (key.created_at, key.kid), default=None)
        return max(begun, key=lambda key: (key.created_at, key.kid))

    async def _load_keys(self) -> dict[str, LoadedKey]:
        return await self._keys.get(_ALL_KEYS) or {}

    async def _fetch_keys(self, _: str) -> dict[str, LoadedKey]:
        stored = sorted(await self._store.list_signing_keys(), key=lambda key: (key.created_at, key.kid))
        return {key.kid: load_key(key) for key in stored}


class TokenSigner:
    """Signs tokens, tickets and picture tokens with the current key."""

    def __init__(
        self, keyring: KeyRing, clock: Clock, issuer: str, audience: str, access_lifetime: float, id_lifetime: float
    ) -> None:
        self._keyring = keyring
        self._clock = clock
        self._issuer = issuer
        self._audience = audience
        self._lifetimes = {TokenKind.ACCESS: access_lifetime, TokenKind.ID: id_lifetime}

    async def sign(self, claims: dict[str, Any], *, typ: str) -> str:
        return (await self._keyring.find_current()).sign(claims, typ)

    async def read(self, signed: str, *, typ: str) -> dict[str, Any] | None:
        """Return the claims. Return None if no accepted key of the gateway has signed the text with this `typ`.

        The header is checked first, because it names the key for the check of the signature. This is safe: the signature covers
        the header too. The headers that this gateway signs have only the fields `typ`, `alg` and `kid`.
        """
        try:
            unverified = signed.encode("ascii")
            header = read_header(unverified)
        except (TokenRefused, UnicodeEncodeError):
            return None
        if header.typ != typ or header.kid is None:
            return None
        key = await self._keyring.find_key(header.kid)
        if key is None or key.algorithm != header.alg:
            return None
        signed_part, _, signature = unverified.rpartition(b".")
        try:
            if not key.has_signed(signed_part, decode_base64url(signature)):
                return None
            claims = msgspec.json.decode(decode_base64url(signed_part.partition(b".")[2]))
        except (ValueError, RecursionError):
            return None
        return claims if isinstance(claims, dict) else None

    async def find_server_secret(self) -> bytes:
        return await self._keyring.find_server_secret()

    async def jwks(self) -> dict[str, Any]:
        """Return the JSON Web Key Set (RFC 7517 §5), with which everyone can verify our signatures."""
        return {"keys": [key.to_jwk() for key in await self._keyring.list_keys()]}

    async def mint_token(
        self,
        kind: TokenKind,
        user: User,
        client: Client,
        grant: Grant,
        lifetime: float | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> str:
        if (grant.user_id, grant.client_id) != (user.id, client.id):
            raise ValueError("the grant is for another user or client than the token")
        now = self._clock.now()
        claims: dict[str, Any] = {
            **(extra or {}),
            "iss": self._issuer,
            "sub": user.id,
            "iat": int(now),
            "exp": int(now + (self._lifetimes[kind] if lifetime is None else lifetime)),
            "jti": os.urandom(16).hex(),
            "scope": " ".join(grant.scopes),
            "grant": grant.id,
        }
        if kind is TokenKind.ACCESS:  # RFC 9068 §2.2
            claims |= {"aud": self._audience, "client_id": client.id}
        else:  # OpenID Connect Core §2, §5.4: only claims that the person allowed
            claims["aud"] = client.id
            if IdentityScope.EMAIL in grant.scopes:
                claims |= {"email": user.email, "email_verified": user.email_verified}
            if IdentityScope.PROFILE in grant.scopes:
                claims |= user.profile
        return await self.sign(claims, typ=TYP_OF_KIND[kind])
