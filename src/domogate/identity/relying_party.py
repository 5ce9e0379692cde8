"""The host name and origin of this gateway for passkeys."""

from ipaddress import ip_address
from urllib.parse import urlsplit

import msgspec


class RelyingParty(msgspec.Struct, frozen=True):
    """The host name and origin to which browsers bind passkeys (WebAuthn §4)."""

    id: str
    origin: str


def find_relying_party(base_url: str) -> RelyingParty | None:
    """Return the host name and origin of the gateway, or None if browsers do not offer passkeys at this URL.

    Passkeys need https or localhost, and a host name that is not an IP address.
    """
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    is_local = host == "localhost" or host.endswith(".localhost")
    if not host.isascii() or _is_address(host) or not (parts.scheme == "https" or (is_local and parts.scheme == "http")):
        return None
    is_usual_port = parts.port in (None, {"https": 443, "http": 80}[parts.scheme])
    return RelyingParty(host, f"{parts.scheme}://{host}" + ("" if is_usual_port else f":{parts.port}"))


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
