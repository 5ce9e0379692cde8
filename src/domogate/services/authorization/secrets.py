"""Compares secrets with their hashes, derives refresh tokens, and checks PKCE."""

import hashlib
import hmac
import re

from domogate.common.base64url import encode_base64url
from domogate.common.secrets import encode_secret, hash_secret
from domogate.ports import Signer

_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}", re.ASCII).fullmatch
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII).fullmatch


def matches(secret: str, secret_hash: str | None) -> bool:
    """Whether the secret has this hash, compared in constant time. False if there is no hash."""
    return hmac.compare_digest(hash_secret(secret), secret_hash or "")


def derive_successor(presented: str, server_secret: bytes) -> str:
    """Return the refresh token that replaces the presented token.

    The new token is computed from the presented token. So a retry gets the same new token, although the store has only
    the hash of the new token.
    """
    return _to_base64url(hmac.digest(server_secret, b"refresh token\0" + encode_secret(presented), "sha256"))


class TextMac:
    """Computes and verifies a MAC (message authentication code), which proves that this gateway wrote a text."""

    def __init__(self, signer: Signer, purpose: str) -> None:
        self._signer = signer
        self._purpose = b"seal\0" + purpose.encode()

    async def sign(self, text: str) -> str:
        key = hmac.digest(await self._signer.find_server_secret(), self._purpose, "sha256")
        return _to_base64url(hmac.digest(key, encode_secret(text), "sha256"))

    async def verify(self, text: str, mac: str) -> bool:
        return hmac.compare_digest((await self.sign(text)).encode(), encode_secret(mac))


def is_challenge(text: str) -> bool:
    """Whether the text has the form of an S256 challenge (RFC 7636 §4.2)."""
    return _CHALLENGE(text) is not None


def is_verifier(text: str) -> bool:
    """Whether the text has the form of a code verifier (RFC 7636 §4.1)."""
    return _VERIFIER(text) is not None


def verifies(verifier: str, challenge: str) -> bool:
    """Whether the verifier matches the S256 challenge (RFC 7636 §4.6)."""
    return is_verifier(verifier) and hmac.compare_digest(_to_base64url(hashlib.sha256(verifier.encode()).digest()), challenge)


def half_hash(token: str) -> str:
    """Return the claim at_hash for a token (OpenID Connect Core §3.1.3.6): the first half of the token's hash.

    The hash is SHA-256, because both our signing algorithms (ES256, RS256) use SHA-256.
    """
    return _to_base64url(hashlib.sha256(token.encode()).digest()[:16])


def _to_base64url(digest: bytes) -> str:
    return encode_base64url(digest).decode()
