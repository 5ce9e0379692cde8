"""What a token says of itself before anything of it is proven: only enough to know how, and by whose keys, to prove it."""

import msgspec
from joserfc.util import urlsafe_b64decode

from domogate.domain.faults import TokenRefused

MAX_TOKEN = 8_192
_MAX_HEADER = 512


class UnverifiedHeader(msgspec.Struct, frozen=True):
    """What of an unverified header decides how it is verified."""

    alg: str
    kid: str | None = None
    typ: str | None = None


class _Issued(msgspec.Struct, frozen=True):
    iss: str | None = None


def read_header(unverified_token: bytes) -> UnverifiedHeader:
    """Refuse cheaply what cannot be a token that is accepted here: an opaque refresh token, five parts, a novel."""
    if len(unverified_token) > MAX_TOKEN:
        raise TokenRefused(f"The token is longer than {MAX_TOKEN} bytes.")
    parts = unverified_token.split(b".", 3)
    if len(parts) != 3 or not all(parts) or len(parts[0]) > _MAX_HEADER:
        raise TokenRefused("The token is not a signed JWT: three parts with dots between them are expected.")
    try:
        return msgspec.json.decode(urlsafe_b64decode(parts[0]), type=UnverifiedHeader)
    except (ValueError, RecursionError):
        raise TokenRefused("The token is not a signed JWT: its header cannot be read.") from None


def read_issuer(unverified_token: bytes) -> str | None:
    """Whom the token claims to be from; None where that cannot be read. It picks the verifier and proves nothing."""
    parts = unverified_token.split(b".", 3)
    if len(unverified_token) > MAX_TOKEN or len(parts) != 3:
        return None
    try:
        return msgspec.json.decode(urlsafe_b64decode(parts[1]), type=_Issued).iss
    except (ValueError, RecursionError):
        return None
