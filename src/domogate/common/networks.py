"""Which network an address belongs to, for counts per address."""

import ipaddress

_LONGEST = 64


def network_of(address: str) -> str:
    """An IPv6 address counts as its /64: one customer usually has all of it. Other text is cut, because it is stored."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:_LONGEST]
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.IPv6Network((parsed, 64), strict=False))
    return str(parsed)
