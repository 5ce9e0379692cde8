"""Random secrets that clients send, such as keys and cookies. They are stored only as their SHA-256.

A fast hash is enough: a recovery code has 79 random bits, and each other secret that the gateway makes has at least 128. Keys
and client secrets can also come from an estate file. The import refuses weak ones. Passwords have a slow hash
(`identity/hashing.py`).
"""

import secrets
from functools import cached_property
from hashlib import sha256


def new_secret() -> str:
    """Return a new secret with 256 random bits."""
    return secrets.token_urlsafe(32)


def encode_secret(secret: str) -> bytes:
    """Return the bytes of a secret that came from the network.

    A text with a lone surrogate raises no error, but it matches no secret.
    """
    return secret.encode("utf-8", "surrogatepass")


def hash_secret(secret: str) -> str:
    """Return the stored form of a key, code, refresh token, cookie, link or client secret."""
    return sha256(encode_secret(secret)).hexdigest()


class SentSecret(bytes):
    """A secret as a client sent it. Its digest is computed once and kept.

    The gateway caches parsed requests, so the same object may be used for several requests.
    """

    @cached_property
    def digest(self) -> bytes:
        return sha256(self).digest()


def digest_secret(secret: bytes) -> bytes:
    """Return the SHA-256 of a secret as bytes, for use as a cache key."""
    return secret.digest if isinstance(secret, SentSecret) else sha256(secret).digest()
