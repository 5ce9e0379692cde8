"""Groups IP addresses by network, for counts per address."""

import ipaddress

_LONGEST = 64


def network_of(address: str) -> str:
    """Return the /64 network of an IPv6 address, because one customer usually has all of it.

    Other addresses stay as they are. Text that is not an address is cut, because it is stored.
    """
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:_LONGEST]
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.IPv6Network((parsed, 64), strict=False))
    return str(parsed)
