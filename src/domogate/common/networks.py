"""Groups IP addresses by network, for counts per IP address."""

import ipaddress

_LONGEST = 64


def network_of(address: str) -> str:
    """Return the text under which an IP address is counted.

    An IPv6 address is counted by its /64 network, because one customer usually has the whole network. An IPv4 address stays as
    it is. An IPv4 address that is written as an IPv6 address (`::ffff:192.0.2.1`) becomes the IPv4 address. A text that is not
    an IP address is shortened, because it is stored and could be very long.
    """
    if ":" not in address:
        return address.partition("%")[0][:_LONGEST]
    try:
        parsed = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address[:_LONGEST]
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((parsed, 64), strict=False))
