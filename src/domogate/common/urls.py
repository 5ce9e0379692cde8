"""Parsing of URLs and hosts."""

from urllib.parse import SplitResult, urlsplit


def split_url(text: str) -> SplitResult | None:
    """Return the parts of a URL. Return None if its host is malformed, or if its port is not a number from 0 to 65535.

    The caller must check the scheme and the host: a text such as `abc` gives parts without them.
    """
    try:
        parts = urlsplit(text)
        _ = parts.hostname, parts.port
    except ValueError:
        return None
    return parts


def is_host(host: str) -> bool:
    """Whether the host can be given to the resolver, which encodes a name with the codec `idna`."""
    if not host.isprintable() or any(character in " /@" for character in host):
        return False
    try:
        return bool(host.encode("idna"))
    except UnicodeError:
        return False
