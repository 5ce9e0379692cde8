"""Accepts connections and counts each of them before TLS and HTTP begin.

The server of the event loop (`loop.create_server`, which uvicorn uses) would accept any number of connections. With that
server, a connection could be counted only after its TLS handshake.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Coroutine
from typing import Any

from domogate.edge.certificates import Tls
from domogate.edge.connections import Connections, Place
from domogate.edge.listening import ManagedSocket, hold_new_connections

_AT_ONCE = 32
"""The greatest number of connections that are accepted in one round of the event loop.

Because of this limit, requests on open connections are answered quickly even while very many new connections arrive.
"""
_RESERVE_SHARE = 4
"""A connection of the reserve counts as this number of connections toward the limit `_AT_ONCE`.

Connections that come when a limit is reached belong to the reserve (`connections.py`). Few of them are accepted in one round
of the event loop. So each of them has some rounds to send its request before a newer connection replaces it.
"""
_PAUSE = 0.5
"""In seconds. After an error of the system, such as too many open files, no connection is accepted for this time."""
_HOLD = 0.1
"""In seconds: the time between `hold_new_connections` and the closing of the port.

In this time, clients can complete the connections that they have begun to open.
"""


class Acceptor:
    """Accepts the connections of one listening socket, until `finish` or `close` is called."""

    def __init__(
        self,
        listener: socket.socket,
        new_protocol: Callable[[Place], asyncio.Protocol],
        connections: Connections,
        tls: Tls | None,
        handshake_deadline: float,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._listener = listener
        self._new_protocol = new_protocol
        self._connections = connections
        self._tls = tls
        self._handshake_deadline = handshake_deadline if tls else None
        self._opening: set[asyncio.Task[None]] = set()
        self._is_open = True
        self._resume()

    @property
    def is_opening(self) -> bool:
        """True while a connection has no protocol (the object that reads its requests) yet.

        Usually this is because its TLS handshake has not ended, or because `finish` could not accept it yet.
        """
        return bool(self._opening)

    async def finish(self) -> None:
        """Stop listening, in a way that resets no connection that a client has opened (Decision 0104).

        If the service manager opened the socket, connections that are not accepted yet wait in it. The next process gets them
        (Decision 0125). Otherwise they are accepted in the background, and `is_opening` is True until all are accepted.
        """
        if isinstance(self._listener, ManagedSocket):
            self._stop()
            self._listener.close()
            return
        hold_new_connections(self._listener)
        await asyncio.sleep(_HOLD)
        self._stop()
        self._begin(self._accept_the_rest())

    async def _accept_the_rest(self) -> None:
        pause = self._accept()
        while pause is not None:
            await asyncio.sleep(pause)
            pause = self._accept()
        self._listener.close()

    def close(self) -> None:
        """Accept no more connections, and drop the connections that are not open yet (usually: still in the TLS handshake)."""
        self._stop()
        for task in self._opening:
            task.cancel()

    async def wait_closed(self) -> None:
        await asyncio.gather(*self._opening, return_exceptions=True)

    def _stop(self) -> None:
        if self._is_open:
            self._is_open = False
            self._loop.remove_reader(self._listener)

    def _resume(self) -> None:
        if self._is_open:
            self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> float | None:
        """Accept the connections of one round of the event loop.

        Return the seconds after which to call this method again, or None if no more connections wait.
        """
        accepted = 0
        while accepted < _AT_ONCE:
            try:
                connection, address = self._listener.accept()
            except BlockingIOError:
                return None
            except ConnectionAbortedError:
                continue  # The client has already left.
            except OSError:
                self._connections.count_system_error()
                self._loop.remove_reader(self._listener)
                self._loop.call_later(_PAUSE, self._resume)
                return _PAUSE
            connection.setblocking(False)
            place = self._connections.add(connection, address[0])
            accepted += _RESERVE_SHARE if place.limit else 1
            self._begin(self._open(connection, place))
        return 0.0

    def _begin(self, opening: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(opening)
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _open(self, connection: socket.socket, place: Place) -> None:
        opened = False
        context = None if self._tls is None else self._tls.context
        # An error of the system means that the client left, or that its TLS handshake failed or took too long.
        with contextlib.suppress(OSError):
            try:
                await self._loop.connect_accepted_socket(
                    lambda: self._new_protocol(place), connection, ssl=context, ssl_handshake_timeout=self._handshake_deadline
                )
                opened = True
            finally:
                if not opened:
                    place.leave()
                    connection.close()
