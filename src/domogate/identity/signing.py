"""The gateway's signing keys and tokens. The keys are in the store, so all gateways of the store use the same keys.

A key is published when it is added. It signs from `created_at`, which may be in the future, until `retired_at`. It verifies
until its last token has expired. So only the time decides which key signs, and all gateways change the key at the same time
(rotation.py).
"""

import asyncio
import hashlib
import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePrivateKey, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, RSAKey
from joserfc.util import urlsafe_b64decode, urlsafe_b64encode

from domogate.common.feed_cache import FeedCache
from domogate.domain.events import Change, ChangesLost, SigningKeysChanged
from domogate.domain.faults import TokenRefused
from domogate.domain.people import Client, Grant, IdentityScope, TokenKind, User
from domogate.identity.knowledge import KnowledgeBound
from domogate.identity.unverified import read_header
from domogate.ports import Clock, SigningKey, SigningKeyStore

JwsKey = ECKey | RSAKey

# The allowed algorithms for signing and verifying (RFC 8725 §3.1). "none" and symmetric algorithms are not allowed.
GENERATORS: Mapping[str, Callable[[], JwsKey]] = MappingProxyType(
    {"ES256": lambda: ECKey.generate_key("P-256"), "RS256": lambda: RSAKey.generate_key(2048)}
)

# The header `typ` of each kind of token. A ticket has a different `typ`, so that it cannot be used as a token (RFC 8725 §3.11).
TYP_OF_KIND: Mapping[TokenKind, str] = MappingProxyType({TokenKind.ACCESS: "at+jwt", TokenKind.ID: "JWT"})

PUBLISHED_AHEAD = 600.0
"""Seconds between publishing a key and signing with it: twice the time for which clients may cache the key set."""

DISTRUSTED = 0.0
"""A value for `retired_at` that is so long ago that all tokens of the key have expired."""

_SHA256, _PKCS1 = SHA256(), PKCS1v15()
_ECDSA = ECDSA(_SHA256)
_P256_BYTES = 32

_UNKNOWN_KID_PAUSE = 1.0
_ALL_KEYS = "all keys"


class LoadedKey(msgspec.Struct, frozen=True):
    """A signing key that was read from the store and decoded, ready to sign and to verify."""

    kid: str
    algorithm: str
    key: JwsKey
    created_at: float
    retired_at: float | None
    server_secret: bytes
    """A secret that is derived from the private key."""
    private_key: EllipticCurvePrivateKey | RSAPrivateKey
    public_key: EllipticCurvePublicKey | RSAPublicKey
    headers: dict[str, bytes] = {}
    """The encoded headers of signed texts, by their `typ`. The gateway uses only a few types."""

    def signs(self, now: float) -> bool:
        return self.created_at <= now and (self.retired_at is None or now < self.retired_at)

    def sign(self, claims: dict[str, Any], typ: str) -> str:
        """Sign the claims, and return a JWS in the compact form (RFC 7515 §7.1).

        `jwt.encode` of joserfc takes twice as long, because it checks the key and the header for each signature.
        """
        header = self.headers.get(typ)
        if header is None:
            members = {"typ": typ, "alg": self.algorithm, "kid": self.kid}
            header = self.headers[typ] = urlsafe_b64encode(msgspec.json.encode(members))
        signed = b"%b.%b" % (header, urlsafe_b64encode(msgspec.json.encode(claims)))
        return (b"%b.%b" % (signed, urlsafe_b64encode(self._make_signature(signed)))).decode()

    def _make_signature(self, signed: bytes) -> bytes:
        """Sign with ES256 or RS256 (RFC 7518 §3.3, §3.4)."""
        if isinstance(self.private_key, EllipticCurvePrivateKey):
            one, other = decode_dss_signature(self.private_key.sign(signed, _ECDSA))
            return one.to_bytes(_P256_BYTES, "big") + other.to_bytes(_P256_BYTES, "big")
        return self.private_key.sign(signed, _PKCS1, _SHA256)

    def has_signed(self, signed: bytes, signature: bytes) -> bool:
        """Return whether this key made the signature of the bytes `signed`, with ES256 or RS256 (RFC 7518 §3.3, §3.4)."""
        try:
            if isinstance(self.public_key, EllipticCurvePublicKey):
                if len(signature) != 2 * _P256_BYTES:
                    return False
                one, other = int.from_bytes(signature[:_P256_BYTES], "big"), int.from_bytes(signature[_P256_BYTES:], "big")
                self.public_key.verify(encode_dss_signature(one, other), signed, _ECDSA)
            else:
                self.public_key.verify(signature, signed, _PKCS1, _SHA256)
        except InvalidSignature:
            return False
        return True

    def to_jwk(self) -> dict[str, Any]:
        """Return the public members of the key (RFC 7517 §4)."""
        return {**self.key.as_dict(private=False), "kid": self.kid, "use": "sig", "alg": self.algorithm}


def new_signing_key(algorithm: str, created_at: float) -> SigningKey:
    """Return a new private key. Its `kid` is its thumbprint (RFC 7638)."""
    key = GENERATORS[algorithm]()
    return SigningKey(
        kid=key.thumbprint(), algorithm=algorithm, jwk=json.dumps(key.as_dict(private=True)), created_at=created_at
    )


def _load(stored: SigningKey) -> LoadedKey:
    try:
        jwk = json.loads(stored.jwk)
        key: JwsKey = ECKey.import_key(jwk) if jwk["kty"] == "EC" else RSAKey.import_key(jwk)
    except (ValueError, TypeError, KeyError, JoseError) as error:
        raise ValueError(f"the stored signing key {stored.kid} cannot be read") from error
    private_key = key.private_key
    if private_key is None:
        raise ValueError(f"the stored signing key {stored.kid} is not a private key")
    return LoadedKey(
        kid=stored.kid,
        algorithm=stored.algorithm,
        key=key,
        created_at=stored.created_at,
        retired_at=stored.retired_at,
        server_secret=hashlib.sha256(b"domogate refresh tokens " + stored.jwk.encode()).digest(),
        private_key=private_key,
        public_key=private_key.public_key(),
    )


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
        """`algorithm` is preferred for signing. `retired_kept` is the number of seconds for which a retired key still verifies.

        This number must be at least the longest lifetime of a token. `knowledge` says whether the data of this gateway are too
        old. If they are, no token and no ticket is verified.
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
        self._unknown_kid_at = float("-inf")

    async def start(self) -> None:
        """Add the first key if the store has no key. If no key has the preferred algorithm, plan a new key.

        Two gateways may do this at the same time. Each of these gateways then lists the keys again, so both use the newest key.
        """
        now = self._clock.now()
        keys = (await self._load_keys()).values()
        if not any(key.algorithm == self._algorithm and (key.retired_at is None or now < key.retired_at) for key in keys):
            begins = now + PUBLISHED_AHEAD if any(key.signs(now) for key in keys) else now
            await self._store.add_signing_key(await asyncio.to_thread(new_signing_key, self._algorithm, begins))
            self._keys.clear()
        await self.find_current()

    def apply(self, changes: Sequence[Change]) -> None:
        """Forget the loaded keys. They are read again when a key is needed."""
        self._keys.apply(changes)

    async def find_current(self) -> LoadedKey:
        """Return the key to sign with now. Raises LookupError if the store has no key that may sign."""
        current = self._choose((await self._load_keys()).values())
        if current is None:
            raise LookupError("the store has no signing key in use")
        return current

    async def find_server_secret(self) -> bytes:
        """Return the server secret: it is derived from the oldest signing key that is not distrusted.

        A planned rotation does not change this secret. An emergency rotation replaces it.
        """
        return next(key.server_secret for key in (await self._load_keys()).values() if key.retired_at != DISTRUSTED)

    async def find_key(self, kid: str) -> LoadedKey | None:
        """Return the key with this id, if its signatures are still accepted.

        Raises Internal if this gateway may not know the latest changes of the keys (`Knowledge.wait`).
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
        """Return all keys that still verify. The oldest key is first."""
        keys = await self._load_keys()
        now = self._clock.now()
        return tuple(key for key in keys.values() if self._verifies(key, now))

    def _verifies(self, key: LoadedKey, now: float) -> bool:
        return key.algorithm in GENERATORS and (key.retired_at is None or now < key.retired_at + self._retired_kept)

    def _choose(self, keys: Iterable[LoadedKey]) -> LoadedKey | None:
        """Return the newest key that may sign now. Return None if there is no such key.

        A key with the preferred algorithm is chosen, even if a key with another algorithm is newer. If no key may sign yet, our
        clock is behind the clock of the gateway that made the keys. Then the oldest key is returned.
        """
        now = self._clock.now()
        valid = [key for key in keys if key.algorithm in GENERATORS and (key.retired_at is None or now < key.retired_at)]
        begun = [key for key in valid if key.signs(now)]
        if not begun:  # Our clock is behind the clock of the gateway that made the keys.
            return min(valid, key=lambda key: (key.created_at, key.kid), default=None)
        return max(begun, key=lambda key: (key.algorithm == self._algorithm, key.created_at, key.kid))

    async def _load_keys(self) -> dict[str, LoadedKey]:
        return await self._keys.get(_ALL_KEYS) or {}

    async def _fetch_keys(self, _: str) -> dict[str, LoadedKey]:
        stored = sorted(await self._store.list_signing_keys(), key=lambda key: (key.created_at, key.kid))
        return {key.kid: _load(key) for key in stored}


class TokenSigner:
    """Signs tokens and other claims, such as tickets, with the current key."""

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
        """Return the claims, or None if this gateway did not sign the text with this `typ`.

        The header is checked before the signature. The signature covers the header, and this gateway signs no other members of
        a header than `typ`, `alg` and `kid`.
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
            if not key.has_signed(signed_part, urlsafe_b64decode(signature)):
                return None
            claims = msgspec.json.decode(urlsafe_b64decode(signed_part.partition(b".")[2]))
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
            "jti": str(uuid.uuid4()),
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
