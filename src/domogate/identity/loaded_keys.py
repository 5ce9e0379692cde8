"""Signing keys in memory: they sign JWTs in the compact form, and verify their signatures (RFC 7515 §7.1, RFC 7518 §3).

The gateway does not use the library joserfc for its own keys, except for RSA keys: joserfc checks the key and the header for
each signature, which takes twice as long, and its import delays the start.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDSA,
    SECP256R1,
    EllipticCurvePrivateKey,
    EllipticCurvePrivateNumbers,
    EllipticCurvePublicKey,
    EllipticCurvePublicNumbers,
    generate_private_key,
)
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from domogate.common.base64url import decode_base64url, encode_base64url
from domogate.ports import SigningKey

Jwk = dict[str, Any]
"""A key as RFC 7517 describes it."""

_SHA256, _PKCS1 = SHA256(), PKCS1v15()
_ECDSA = ECDSA(_SHA256)
_P256_BYTES = 32
_PUBLIC: Mapping[str, tuple[str, ...]] = MappingProxyType({"EC": ("crv", "kty", "x", "y"), "RSA": ("e", "kty", "n")})
"""The members of the public part of a key, by the type of the key. They also make the thumbprint (RFC 7638 §3.2)."""

_encode_json = msgspec.json.Encoder().encode


_Functions = tuple[Callable[[bytes], bytes], Callable[[bytes, bytes], bool]]
"""The functions `make_signature` and `has_signed` of a key."""


class LoadedKey(msgspec.Struct, frozen=True):
    """A signing key that was read from the store and decoded, ready to sign and to verify."""

    kid: str
    algorithm: str
    public_jwk: Jwk
    created_at: float
    retired_at: float | None
    server_secret: bytes
    """A secret that is derived from the private key."""
    make_signature: Callable[[bytes], bytes]
    has_signed: Callable[[bytes, bytes], bool]
    """Returns whether this key made a signature. The arguments are the signed bytes and the signature."""
    headers: dict[str, bytes] = {}
    """The encoded headers of signed texts, by their `typ`. The gateway uses only a few types."""

    def signs(self, now: float) -> bool:
        return self.created_at <= now and (self.retired_at is None or now < self.retired_at)

    def sign(self, claims: dict[str, Any], typ: str) -> str:
        """Sign the claims, and return a JWS in the compact form."""
        header = self.headers.get(typ)
        if header is None:
            members = {"typ": typ, "alg": self.algorithm, "kid": self.kid}
            header = self.headers[typ] = encode_base64url(_encode_json(members))
        signed = b"%b.%b" % (header, encode_base64url(_encode_json(claims)))
        return (b"%b.%b" % (signed, encode_base64url(self.make_signature(signed)))).decode()

    def to_jwk(self) -> dict[str, Any]:
        """Return the public part of the key (RFC 7517 §4)."""
        return {**self.public_jwk, "kid": self.kid, "use": "sig", "alg": self.algorithm}


def _new_ec_key() -> Jwk:
    numbers = generate_private_key(SECP256R1()).private_numbers()
    public = numbers.public_numbers
    values = {"x": public.x, "y": public.y, "d": numbers.private_value}
    return {"kty": "EC", "crv": "P-256"} | {name: _print_number(value) for name, value in values.items()}


def _new_rsa_key() -> Jwk:
    from joserfc.jwk import RSAKey  # Few gateways have RSA keys.

    return dict(RSAKey.generate_key(2048).as_dict(private=True))


# The allowed algorithms for signing and verifying (RFC 8725 §3.1). "none" and symmetric algorithms are not allowed.
GENERATORS: Mapping[str, Callable[[], Jwk]] = MappingProxyType({"ES256": _new_ec_key, "RS256": _new_rsa_key})


def new_signing_key(algorithm: str, created_at: float) -> SigningKey:
    """Return a new private key. Its `kid` is its thumbprint (RFC 7638)."""
    jwk = GENERATORS[algorithm]()
    thumbprint = hashlib.sha256(json.dumps(_public_part(jwk), separators=(",", ":")).encode()).digest()
    return SigningKey(
        kid=encode_base64url(thumbprint).decode(), algorithm=algorithm, jwk=json.dumps(jwk), created_at=created_at
    )


def load_key(stored: SigningKey) -> LoadedKey:
    """Decode a stored key. Raises ValueError if it cannot be read."""
    try:
        jwk: Jwk = json.loads(stored.jwk)
        public_jwk = _public_part(jwk)
        is_private = "d" in jwk
        make_signature, has_signed = _FUNCTIONS[jwk["kty"]](jwk) if is_private else (None, None)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"the stored signing key {stored.kid} cannot be read") from error
    if make_signature is None or has_signed is None:
        raise ValueError(f"the stored signing key {stored.kid} is not a private key")
    return LoadedKey(
        kid=stored.kid,
        algorithm=stored.algorithm,
        public_jwk=public_jwk,
        created_at=stored.created_at,
        retired_at=stored.retired_at,
        server_secret=hashlib.sha256(b"domogate refresh tokens " + stored.jwk.encode()).digest(),
        make_signature=make_signature,
        has_signed=has_signed,
    )


def _public_part(jwk: Jwk) -> Jwk:
    return {name: jwk[name] for name in _PUBLIC[jwk["kty"]]}


def _load_ec_key(jwk: Jwk) -> _Functions:
    if jwk["crv"] != "P-256":
        raise ValueError("the curve of the key is not P-256")
    x, y, d = (int.from_bytes(decode_base64url(jwk[name].encode()), "big") for name in ("x", "y", "d"))
    key = EllipticCurvePrivateNumbers(d, EllipticCurvePublicNumbers(x, y, SECP256R1())).private_key()
    return partial(_sign_es256, key), partial(_verify_es256, key.public_key())


def _load_rsa_key(jwk: Jwk) -> _Functions:
    from joserfc.errors import JoseError  # Few gateways have RSA keys.
    from joserfc.jwk import RSAKey

    try:
        key = RSAKey.import_key(jwk).private_key
    except JoseError as error:
        raise ValueError("the RSA key cannot be read") from error
    assert key is not None, "the key has a private part"
    return partial(_sign_rs256, key), partial(_verify_rs256, key.public_key())


# The functions of a key are chosen once, because checks of the type of a key take some microseconds for each signature.
_FUNCTIONS: Mapping[str, Callable[[Jwk], _Functions]] = MappingProxyType({"EC": _load_ec_key, "RSA": _load_rsa_key})


def _print_number(number: int) -> str:
    return encode_base64url(number.to_bytes(_P256_BYTES, "big")).decode()


def _sign_es256(key: EllipticCurvePrivateKey, signed: bytes) -> bytes:
    one, other = decode_dss_signature(key.sign(signed, _ECDSA))
    return one.to_bytes(_P256_BYTES, "big") + other.to_bytes(_P256_BYTES, "big")


def _verify_es256(key: EllipticCurvePublicKey, signed: bytes, signature: bytes) -> bool:
    if len(signature) != 2 * _P256_BYTES:
        return False
    one, other = int.from_bytes(signature[:_P256_BYTES], "big"), int.from_bytes(signature[_P256_BYTES:], "big")
    try:
        key.verify(encode_dss_signature(one, other), signed, _ECDSA)
    except InvalidSignature:
        return False
    return True


def _sign_rs256(key: RSAPrivateKey, signed: bytes) -> bytes:
    return key.sign(signed, _PKCS1, _SHA256)


def _verify_rs256(key: RSAPublicKey, signed: bytes, signature: bytes) -> bool:
    try:
        key.verify(signature, signed, _PKCS1, _SHA256)
    except InvalidSignature:
        return False
    return True
