"""Parsing of URLs."""

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
