"""Checks the URL and the IP addresses of webhook receivers. Any application can register a receiver (Decision 0046)."""

import re
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from domogate.ports import Undelivered

if TYPE_CHECKING:
    from yarl import URL

Address = IPv4Address | IPv6Address

MAX_URL = 2_000

# The special-purpose registries of IANA (RFC 6890). `is_global` of the standard library differs between versions.
_NOT_PUBLIC = tuple(
    ip_network(block)
    for block in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"),
        *("192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
        *("224.0.0.0/4", "240.0.0.0/4"),
        # Ranges within IPv6 global unicast: Teredo and other protocol assignments, documentation, 6to4 (which contains any
        # IPv4).
        *("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),
    )
)
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")

_INVISIBLE = re.compile(r"[\s\x00-\x20\x7f-\xa0\\]")
_NUMERIC_LABEL = re.compile(r"[0-9]+|0[xX][0-9a-fA-F]*").fullmatch


class AllowedAddresses:
    """The IP addresses that webhooks may call: public addresses, and private networks that the operator allowed."""

    def __init__(self, networks: Sequence[str]) -> None:
        self._networks = tuple(ip_network(network) for network in networks)

    def is_listed(self, address: Address) -> bool:
        """Whether the operator allowed the IP address. For an IP address that the operator allowed, TLS is not required."""
        mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
        return any(address in network or (mapped is not None and mapped in network) for network in self._networks)

    def permits(self, address: Address) -> bool:
        return self.is_listed(address) or _is_public(address)


def _is_public(address: Address) -> bool:
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            return False
        embedded = address.ipv4_mapped or (IPv4Address(int(address) & 0xFFFF_FFFF) if address in _NAT64 else None)
        if embedded is not None:
            return _is_public(embedded)
        if address not in _GLOBAL_UNICAST:
            return False
    return not any(address in block for block in _NOT_PUBLIC)


class Target(msgspec.Struct, frozen=True):
    """A URL that can be called. `literal` is the host if it is an IP address, and None if the host is a name."""

    url: "URL"
    host: str
    secure: bool
    literal: Address | None


@lru_cache(maxsize=4096)
def parse_target(text: str) -> Target:
    """Return the target that the text names.

    Raises Undelivered if the text is not a plain http(s) URL, for example if two parsers could read it differently.
    """
    from yarl import URL  # Only gateways with webhooks need it.

    if len(text) > MAX_URL:
        raise _wrong(f"it is longer than {MAX_URL} characters")
    if _INVISIBLE.search(text):
        raise _wrong("it contains a space, a backslash or an invisible character")
    try:
        parts, url = urlsplit(text), URL(text)
        port, host = parts.port, url.raw_host
    except ValueError:
        raise _wrong("it cannot be read as a URL") from None
    if parts.scheme not in ("http", "https"):
        raise _wrong("it must begin with https://")
    if "@" in parts.netloc:
        raise _wrong("it contains a user or a password; a delivery is authenticated by its signature instead")
    if "#" in text:
        raise _wrong("it has a fragment (#), which is never sent")
    if not host or port == 0:
        raise _wrong("it has no host, or port 0")
    literal = _parse_literal(host)
    if literal is None and not all(0 < len(label) < 64 for label in host.rstrip(".").split(".")):
        raise _wrong(f"{host} is not a host name")
    return Target(url, host, parts.scheme == "https", literal)


def _parse_literal(host: str) -> Address | None:
    if "%" in host:
        raise _wrong("it contains the name of a network interface (%)")
    try:
        return ip_address(host)
    except ValueError:
        pass
    # If the last label of a host is a number, browsers and the C library read the host as an IPv4 address. They know several
    # notations.
    if ":" in host or _NUMERIC_LABEL(host.rstrip(".").rpartition(".")[2]):
        raise _wrong(f"{host} is not an address in the usual notation, such as 192.0.2.1 or [2001:db8::1]")
    return None


def _wrong(what: str) -> Undelivered:
    return Undelivered(f"The URL cannot be called: {what}.", forbidden=True)
