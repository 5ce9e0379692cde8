"""Signing keys in memory: they sign JWTs in the compact form, and verify their signatures (RFC 7515 §7.1, RFC 7518 §3).

The library joserfc makes and decodes the keys. This module does not use the functions of joserfc that sign and verify: they
check the key and the header for each signature, and take twice as long. The functions of this module verify
signed texts such as tickets. `tokens.py` verifies access tokens and id tokens with joserfc: the result is
cached, so the longer time matters only once for each token.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import partial
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

from domogate.common.base64url import encode_base64url
from domogate.ports import SigningKey

JwsKey = ECKey | RSAKey

# The allowed algorithms for signing and verifying (RFC 8725 §3.1). "none" and symmetric algorithms are not allowed.
GENERATORS: Mapping[str, Callable[[], JwsKey]] = MappingProxyType(
    {"ES256": lambda: ECKey.generate_key("P-256"), "RS256": lambda: RSAKey.generate_key(2048)}
)

_SHA256, _PKCS1 = SHA256(), PKCS1v15()
_ECDSA = ECDSA(_SHA256)
_P256_BYTES = 32

_encode_json = msgspec.json.Encoder().encode


class LoadedKey(msgspec.Struct, frozen=True):
    """A signing key that was read from the store and decoded, ready to sign and to verify."""

    kid: str
    algorithm: str
    key: JwsKey
    created_at: float
    retired_at: float | None
    server_secret: bytes
    """A secret that is derived from the private key (`KeyRing.find_server_secret`)."""
    make_signature: Callable[[bytes], bytes]
    has_signed: Callable[[bytes, bytes], bool]
    """Returns whether this key made a signature. The arguments are the signed bytes and the signature."""
    headers: dict[str, bytes] = {}
    """A cache: the encoded headers of signed texts, by their `typ`. It stays small, because there are only a few types."""

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
        return {**self.key.as_dict(private=False), "kid": self.kid, "use": "sig", "alg": self.algorithm}


def new_signing_key(algorithm: str, created_at: float) -> SigningKey:
    """Return a new private key. Its `kid` is its thumbprint (RFC 7638)."""
    key = GENERATORS[algorithm]()
    return SigningKey(
        kid=key.thumbprint(), algorithm=algorithm, jwk=json.dumps(key.as_dict(private=True)), created_at=created_at
    )


def load_key(stored: SigningKey) -> LoadedKey:
    """Decode a stored key. Raises ValueError if it cannot be read."""
    try:
        jwk = json.loads(stored.jwk)
        key: JwsKey = ECKey.import_key(jwk) if jwk["kty"] == "EC" else RSAKey.import_key(jwk)
    except (ValueError, TypeError, KeyError, JoseError) as error:
        raise ValueError(f"the stored signing key {stored.kid} cannot be read") from error
    private_key = key.private_key
    if private_key is None:
        raise ValueError(f"the stored signing key {stored.kid} is not a private key")
    make_signature: Callable[[bytes], bytes]
    has_signed: Callable[[bytes, bytes], bool]
    # The functions are chosen here, because checks of the type of a key take some microseconds for each signature.
    if isinstance(private_key, EllipticCurvePrivateKey):
        make_signature, has_signed = partial(_sign_es256, private_key), partial(_verify_es256, private_key.public_key())
    else:
        make_signature, has_signed = partial(_sign_rs256, private_key), partial(_verify_rs256, private_key.public_key())
    return LoadedKey(
        kid=stored.kid,
        algorithm=stored.algorithm,
        key=key,
        created_at=stored.created_at,
        retired_at=stored.retired_at,
        server_secret=hashlib.sha256(b"domogate refresh tokens " + stored.jwk.encode()).digest(),
        make_signature=make_signature,
        has_signed=has_signed,
    )


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
