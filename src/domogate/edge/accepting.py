"""Accepts connections and gives each a place, before TLS and HTTP begin.

The loop's own server would accept without limit, and would count a connection only after its TLS handshake.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable

from domogate.edge.connections import Connections, Place

_AT_ONCE = 8
"""Connections accepted before others are read, so that a flood of new ones does not delay those that are open."""
_PAUSE = 0.5
"""Seconds without accepting after an error of the system, such as too many open files."""


class Acceptor:
    """Accepts the connections of one listening socket until it is closed."""

    def __init__(
        self,
        listener: socket.socket,
        new_protocol: Callable[[Place], asyncio.Protocol],
        connections: Connections,
        tls: ssl.SSLContext | None,
        handshake_deadline: float,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._listener = listener
        self._new_protocol = new_protocol
        self._connections = connections
        self._tls = tls
        self._handshake_deadline = handshake_deadline if tls else None
        self._opening: set[asyncio.Task[None]] = set()
        self._closed = False
        self._start()

    def close(self) -> None:
        self._closed = True
        if self._listener.fileno() >= 0:
            self._loop.remove_reader(self._listener)
        for task in self._opening:
            task.cancel()

    async def wait_closed(self) -> None:
        if self._opening:
            await asyncio.wait(self._opening)

    def _start(self) -> None:
        if not self._closed:
            self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                connection, address = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:
                self._loop.remove_reader(self._listener)
                self._loop.call_later(_PAUSE, self._start)
                return
            connection.setblocking(False)
            place = self._connections.add(connection, address[0])
            task = self._loop.create_task(self._open(connection, place))
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)

    async def _open(self, connection: socket.socket, place: Place) -> None:
        opened = False
        # An error of the system means that the client left, or that its TLS handshake failed or took too long.
        with contextlib.suppress(OSError):
            try:
                await self._loop.connect_accepted_socket(
                    lambda: self._new_protocol(place), connection, ssl=self._tls, ssl_handshake_timeout=self._handshake_deadline
                )
                opened = True
            finally:
                if not opened:
                    place.leave()
                    connection.close()
