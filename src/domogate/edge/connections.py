"""Limits on open connections: in total and per IP address, with a reserve for health checks (Decision 0052)."""

import contextlib
import socket
from collections import Counter
from collections.abc import Mapping, Sequence
from ipaddress import ip_address, ip_network

from domogate.common.log import get_logger
from domogate.common.networks import network_of

RESERVE = 32
"""The number of connections that are accepted beyond the limits.

These connections are the reserve: only health checks are answered on them. If the reserve has more connections than this
number, its oldest connection is closed.
"""
_LOG_INTERVAL = 60.0
_SYSTEM = "system"
"""The key in `_refused` for connections that the system did not accept, usually because of too many open files."""

_log = get_logger("domogate.edge")


class Place:
    """One open connection, within the limits or in the reserve (connections on which only health checks are answered)."""

    __slots__ = ("_connections", "connection", "limit", "network")

    def __init__(self, connections: "Connections", connection: socket.socket, network: str, limit: str | None) -> None:
        self._connections = connections
        self.connection = connection
        self.network = network
        self.limit = limit
        """If a limit was reached, the name of its setting; the connection then belongs to the reserve. Otherwise None."""

    def leave(self) -> None:
        """Stop counting the connection. Must be called when the connection is closed."""
        self._connections.remove(self)

    def has_unread_bytes(self) -> bool:
        """Return True if the operating system has bytes of the client that the gateway has not read yet."""
        try:
            return bool(self.connection.recv(1, socket.MSG_PEEK))
        except OSError:
            return False


class Connections:
    """Counts the open connections of a server."""

    def __init__(self, most: int = 6_000, most_per_address: int = 256, trusted_proxies: Sequence[str] = ()) -> None:
        """`most` is the limit of open connections, and `most_per_address` the limit for one IP address.

        The addresses of one /64 network of IPv6 count as one address. A trusted proxy has no limit per IP address, because it
        sends the requests of many clients.
        """
        self._most = most
        self._most_per_address = most_per_address
        self._proxies = [ip_network(proxy) for proxy in trusted_proxies]
        self._places: set[Place] = set()
        self._reserved: dict[Place, None] = {}
        self._by_network: Counter[str] = Counter()
        self._refused = {"connections_most": 0, "connections_most_per_address": 0, _SYSTEM: 0}
        self._logged = 0
        self._log_after = 0.0

    def __len__(self) -> int:
        return len(self._places) + len(self._reserved)

    @property
    def refused(self) -> Mapping[tuple[str, ...], float]:
        """For each limit, the number of connections that exceeded it.

        The limits: the settings `connections_most` and `connections_most_per_address`, and the limit of the operating system.
        """
        return {(setting,): count for setting, count in self._refused.items()}

    def add(self, connection: socket.socket, address: str) -> Place:
        """Count a new connection, and return its place. If a limit is reached, this place is in the reserve.

        Only health checks are answered on connections of the reserve. If the reserve is full, its oldest connection is closed.
        """
        network = network_of(address)
        limit = None
        if len(self._places) >= self._most:
            limit = "connections_most"
        elif self._by_network[network] >= self._most_per_address and not self._is_proxy(address):
            limit = "connections_most_per_address"
        place = Place(self, connection, network, limit)
        if limit is None:
            self._places.add(place)
            self._by_network[network] += 1
        else:
            self._refused[limit] += 1
            self._reserved[place] = None
            if len(self._reserved) > RESERVE:
                oldest = next(iter(self._reserved))
                del self._reserved[oldest]
                # The transport notices the shutdown and closes the socket.
                with contextlib.suppress(OSError):
                    oldest.connection.shutdown(socket.SHUT_RDWR)
        return place

    def remove(self, place: Place) -> None:
        self._reserved.pop(place, None)
        if place in self._places:
            self._places.remove(place)
            self._by_network[place.network] -= 1
            if not self._by_network[place.network]:
                del self._by_network[place.network]

    def count_system_error(self) -> None:
        """Count a connection that the operating system did not accept, usually because of too many open files."""
        self._refused[_SYSTEM] += 1

    def log_refused(self, now: float) -> None:
        """Log how many connections exceeded a limit since the last such line, at most once a minute."""
        refused = sum(self._refused.values())
        if refused > self._logged and now >= self._log_after:
            _log.warning(
                "connections were refused because a limit is reached", count=refused - self._logged, total=dict(self._refused)
            )
            self._logged, self._log_after = refused, now + _LOG_INTERVAL

    def _is_proxy(self, address: str) -> bool:
        return any(ip_address(address) in proxy for proxy in self._proxies)
