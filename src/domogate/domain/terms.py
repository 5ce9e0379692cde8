"""The terms of use that people accept (Decision 0080)."""

import hashlib

import msgspec


class Terms(msgspec.Struct, frozen=True):
    """The terms of use. The gateway shows `text`, or links to `url` if there is no text."""

    version: str
    """The SHA-256 of the text, or of the URL. People must accept each new version."""
    text: str | None = None
    url: str | None = None


def terms_from_text(text: str) -> Terms:
    """Return the terms with this text. The version of the terms is a hash of the text.

    The kind of line ends (LF or CR LF) does not change the version. White space before and after the text does not change it
    either.
    """
    text = "\n".join(text.split("\r\n")).strip()
    return Terms(_hash(text), text=text)


def terms_at(url: str) -> Terms:
    """Return the terms at this URL. The version of the terms is a hash of the URL, because the gateway does not fetch the text.

    So people are asked to accept a new text only if the text has a new URL.
    """
    return Terms(_hash(url), url=url)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
