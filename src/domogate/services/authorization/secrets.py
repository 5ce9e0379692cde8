"""What a holder shows and we keep only as a hash, and the one-way functions around it."""

import base64
import hashlib
import hmac
import re

from domogate.common.secrets import encode_secret, hash_secret

_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}", re.ASCII).fullmatch
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII).fullmatch

MIN_SERVER_SECRET = 32


def matches(secret: str, secret_hash: str | None) -> bool:
    """In the same time whatever the difference; False without a hash."""
    return hmac.compare_digest(hash_secret(secret), secret_hash or "")


def derive_successor(presented: str, server_secret: bytes) -> str:
    """The refresh token that replaces this one: the same one whenever it is asked for, though only its hash is kept."""
    return _print(hmac.digest(server_secret, b"refresh token\0" + encode_secret(presented), "sha256"))


class Seal:
    """Marks a text as one that this gateway wrote."""

    def __init__(self, server_secret: bytes, purpose: str) -> None:
        self._key = hmac.digest(server_secret, b"seal\0" + purpose.encode(), "sha256")

    def of(self, text: str) -> str:
        return _print(hmac.digest(self._key, encode_secret(text), "sha256"))

    def holds(self, text: str, seal: str) -> bool:
        return hmac.compare_digest(self.of(text).encode(), encode_secret(seal))


def is_challenge(text: str) -> bool:
    """Whether it can be the S256 challenge of some verifier (RFC 7636 §4.2)."""
    return _CHALLENGE(text) is not None


def is_verifier(text: str) -> bool:
    """RFC 7636 §4.1."""
    return _VERIFIER(text) is not None


def verifies(verifier: str, challenge: str) -> bool:
    """RFC 7636 §4.6, S256."""
    return is_verifier(verifier) and hmac.compare_digest(_print(hashlib.sha256(verifier.encode()).digest()), challenge)


def half_hash(token: str) -> str:
    """at_hash of OpenID Connect Core §3.1.3.6: all our algorithms (ES256, RS256) go with SHA-256."""
    return _print(hashlib.sha256(token.encode()).digest()[:16])


def _print(digest: bytes) -> str:
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
