"""Parsing of URLs and hosts."""

from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

_USUAL_PORTS = {"http": 80, "https": 443}


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


def normalize_url(url: str) -> str:
    """Return an http(s) URL as browsers write it: scheme and host in lower case and ASCII, and without the scheme's usual port.

    User, password, query, fragment and slashes at the end are removed. So the URL begins with the origin that a browser sends
    and compares. A host with a letter such as `ß`, which the codec `idna` would replace by other letters, stays the same. A
    malformed URL is returned as it is.
    """
    if (parts := split_url(url)) is None:
        return url
    host = parts.hostname or ""
    with suppress(ValueError):
        host = str(ip_address(host))
    with suppress(UnicodeError):
        encoded = host.encode("idna")
        # The codec changes some letters, such as ß, to others. Browsers do not: for them it would be another host.
        host = encoded.decode() if encoded.decode("idna") == host else host
    name = f"[{host}]" if ":" in host else host
    port = "" if parts.port in (None, _USUAL_PORTS.get(parts.scheme)) else f":{parts.port}"
    return f"{parts.scheme}://{name}{port}{parts.path.rstrip('/')}"
