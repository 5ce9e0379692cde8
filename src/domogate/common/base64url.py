"""Base64 for URLs, without padding (RFC 7515 §2), as JWTs and secrets use it."""

from binascii import a2b_base64, b2a_base64

_FOR_URLS = bytes.maketrans(b"+/", b"-_")
_FROM_URLS = bytes.maketrans(b"-_", b"+/")


def encode_base64url(data: bytes) -> bytes:
    return b2a_base64(data, newline=False).translate(_FOR_URLS, b"=")


def decode_base64url(text: bytes) -> bytes:
    """Return the decoded data. Raises ValueError if the text is not exactly the text that `encode_base64url` makes of the data.

    Without this check, the same signature could be written in several ways.
    """
    data = a2b_base64(text.translate(_FROM_URLS) + b"=" * (-len(text) % 4))
    if encode_base64url(data) != text:
        raise ValueError("this is not base64url without padding")
    return data
