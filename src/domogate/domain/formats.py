"""Formats of e-mail addresses, names, redirect URIs and origins. The estate file and the services share them."""

import ipaddress
import re
import string
import unicodedata
from urllib.parse import urlsplit

NAME_LENGTH = 100

# One @, a domain with a dot, and no character that separates addresses in a mail header.
_NOT_IN_EMAIL = r"@\s,;:<>\"()\[\]\\\x00-\x1f\x7f"
_EMAIL = re.compile(rf"[^{_NOT_IN_EMAIL}]{{1,64}}@[^{_NOT_IN_EMAIL}.]+(\.[^{_NOT_IN_EMAIL}.]+)+").fullmatch
_EMAIL_LENGTH = 254
_ASCII_LOWER = {ord(letter): letter.lower() for letter in string.ascii_uppercase}

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[!-~]+").fullmatch
_URI_LENGTH = 2000
# A browser runs or displays URLs with these schemes; it does not return to the application. In `localhost:8000/`, the scheme
# `http://` was forgotten.
_NOT_A_REDIRECT = frozenset({"javascript", "data", "vbscript", "file", "about", "blob", "localhost"})

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?").fullmatch
_ORIGIN_LENGTH = 300


def email_key(email: str) -> str:
    """Return a key that is the same for all spellings of an e-mail address.

    Spellings may differ in the case of ASCII letters and in the Unicode composition of accents.
    Similar letters stay different: `ſam@example.com` is not `sam@example.com`.
    """
    return unicodedata.normalize("NFC", email).translate(_ASCII_LOWER)


def is_email(text: str) -> bool:
    # A mail header may contain encoded words such as `=?utf-8?q?a=2Cb?=` (RFC 2047). The mail would go to other addresses.
    return len(text) <= _EMAIL_LENGTH and _EMAIL(text) is not None and "=?" not in text


def is_name(text: str) -> bool:
    """Whether the text has at most NAME_LENGTH characters, and neither control characters nor lone surrogates."""
    return len(text) <= NAME_LENGTH and not any(unicodedata.category(character) in ("Cc", "Cs") for character in text)


def is_redirect_uri(uri: str) -> bool:
    """Whether the URI is absolute, has no fragment (RFC 6749 §3.1.2), and leads back to an application.

    A URI with a scheme such as `javascript` or `data` does not lead back: the browser itself runs or shows its content.
    """
    if len(uri) > _URI_LENGTH or "#" in uri or not _URI(uri):
        return False
    try:
        parts = urlsplit(uri)
        host, _port = parts.hostname, parts.port
    except ValueError:
        return False
    if parts.scheme in _NOT_A_REDIRECT:
        return False
    if parts.scheme in ("http", "https"):
        return bool(host)
    # The scheme of an application on a phone or a desktop (RFC 8252 §7.1). `app.example.com:9999/back` is a host with a port.
    return bool(parts.netloc) or parts.path.startswith("/")


def is_plain_http(uri: str) -> bool:
    """Whether the URI uses http and its host is neither a loopback address, nor `localhost`, nor a name below `localhost`.

    With such a URI, other people on the network could read an authorization code (RFC 8252 §7.3).
    """
    parts = urlsplit(uri)
    if parts.scheme.lower() != "http":
        return False
    host = parts.hostname or ""
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host != "localhost" and not host.endswith(".localhost")


def is_origin(text: str) -> bool:
    """Whether the text is a web origin such as https://app.example.com (RFC 6454 §6.2)."""
    return len(text) <= _ORIGIN_LENGTH and _ORIGIN(text) is not None
