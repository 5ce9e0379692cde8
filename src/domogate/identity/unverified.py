"""Reads the parts of an unverified token that decide how the token is verified, and with whose keys."""

from functools import lru_cache

import msgspec
from joserfc.util import urlsafe_b64decode

from domogate.common.base64url import decode_base64url
from domogate.domain.faults import TokenRefused

MAX_TOKEN = 8_192
_MAX_HEADER = 512


class UnverifiedHeader(msgspec.Struct, frozen=True):
    """The fields of a token's header that decide how the token is verified."""

    alg: str
    kid: str | None = None
    typ: str | None = None


class _Issued(msgspec.Struct, frozen=True):
    iss: str | None = None


def read_header(unverified_token: bytes) -> UnverifiedHeader:
    """Return the header.

    Raises TokenRefused for a text that cannot be an accepted token. Examples are a refresh token, an encrypted token and a text
    that is too long. So the gateway makes no costly check of such a text.
    """
    if len(unverified_token) > MAX_TOKEN:
        raise TokenRefused(f"The token is longer than {MAX_TOKEN} bytes.")
    parts = unverified_token.split(b".", 3)
    if len(parts) != 3 or not all(parts) or len(parts[0]) > _MAX_HEADER:
        raise TokenRefused("The token is not a signed JWT: three parts separated by dots are expected.")
    try:
        return _decode_header(parts[0])
    except (ValueError, RecursionError):
        raise TokenRefused("The token is not a signed JWT: its header cannot be read.") from None


@lru_cache(maxsize=100)
def _decode_header(encoded: bytes) -> UnverifiedHeader:
    """Decode a header. The result is cached, because all tokens that one key signed for one purpose have the same header."""
    return msgspec.json.decode(decode_base64url(encoded), type=UnverifiedHeader)


def read_issuer(unverified_token: bytes) -> str | None:
    """Return the issuer that the token names, or None if it cannot be read.

    The issuer is used to choose the verifier; it proves nothing.
    """
    parts = unverified_token.split(b".", 3)
    if len(unverified_token) > MAX_TOKEN or len(parts) != 3:
        return None
    try:
        return msgspec.json.decode(urlsafe_b64decode(parts[1]), type=_Issued).iss
    except (ValueError, RecursionError):
        return None
