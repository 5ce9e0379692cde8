"""Runs uvicorn inside the caller's event loop: serves requests, calls back when ready, drains, and aborts after a timeout."""

import asyncio
import contextlib
import functools
import logging
import math
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, cast

import uvicorn

from domogate.common.log import get_logger
from domogate.common.tasks import wait_for_event
from domogate.edge.accepting import Acceptor
from domogate.edge.certificates import Tls
from domogate.edge.connections import Connections, Place
from domogate.edge.direct import DirectApp, DirectRequests
from domogate.edge.guards import Guards, Limits
from domogate.edge.listening import CannotListen, Listening, listen, start_listening
from domogate.edge.protocol import GuardedProtocol, Shared

__all__ = ["CannotListen", "Connections", "Limits", "Listening", "Tls", "listen", "loop_factory", "run"]

ASGIApp = Callable[[Any, Any, Any], Awaitable[None]]

_METRICS_CONNECTIONS = 16
_METRICS_DRAIN = 1.0
_NOTICE = 0.3
"""In seconds. For this time after a signal to stop, connections are still accepted, but /readyz says "not ready".

In this time a balancer stops sending requests to the gateway. Each answer tells its client to use a new connection.
"""
_TICK = 0.05
"""In seconds. During a drain, the server looks for idle connections at this interval, and closes them."""
_DATE_PERIOD = 1.0
"""In seconds. The header `Date` of the answers is renewed at this interval."""
_HSTS = ("strict-transport-security", "max-age=31536000")
"""HSTS for one year. The value has no includeSubDomains, because other hosts of the domain do not belong to the gateway."""
_COMMON: dict[str, Any] = {
    "http": "httptools",
    "ws": "none",
    "interface": "asgi3",
    "lifespan": "off",
    "log_config": None,
    "access_log": False,
    "server_header": False,
    "date_header": True,
}

_log = get_logger(__name__)


def _is_not_cancelled(record: logging.LogRecord) -> bool:
    """Return False for uvicorn's traceback of a cancelled request. The drain logs one line for all cancelled requests."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


logging.getLogger("uvicorn.error").addFilter(_is_not_cancelled)


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """Return the `loop_factory` for asyncio.Runner: the one of uvloop if it is installed, otherwise the one of asyncio."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop


async def run(
    app: ASGIApp,
    listening: Listening,
    *,
    direct: DirectApp | None = None,
    limits: Limits | None = None,
    connections: Connections | None = None,
    drain: float = 10.0,
    notice: float = _NOTICE,
    tls: Tls | None = None,
    trusted_proxies: Sequence[str] = (),
    only_https: bool = False,
    metrics: ASGIApp | None = None,
    on_ready: Callable[[Listening], Awaitable[None]] | None = None,
    on_drain: Callable[[], None] | None = None,
    on_refused: Callable[[int], None] | None = None,
    stop: asyncio.Event | None = None,
) -> None:
    """Serve until SIGTERM, SIGINT or `stop`, then drain: answer all requests that have arrived, and close idle connections.

    For the first `notice` seconds of the drain, connections are still accepted (Decision 0104). After `drain` seconds, or at a
    second signal, all connections are aborted. `on_ready` is called when requests are accepted. If it raises an exception, the
    server drains, and the exception is raised.
    If `only_https` is true, every answer tells browsers to use only HTTPS (RFC 6797). The files of `tls` are read here, and
    again when they change. Raises CannotListen if these files or the ports cannot be used; then no request is accepted.
    `direct` answers direct requests; it is usually the same object as `app`.
    """
    limits = limits or Limits()
    config = uvicorn.Config(
        app,
        proxy_headers=bool(trusted_proxies),
        forwarded_allow_ips=list(trusted_proxies),
        headers=[_HSTS] if only_https else [],
        **_COMMON,
    )
    if tls is not None:
        tls.load()
    config.load()
    ready = None if on_ready is None else functools.partial(on_ready, listening)
    shared = Shared(Guards(limits, on_refused, connections), DirectRequests(direct, trusted_proxies))
    server = DrainingServer(config, shared, drain, notice, tls, on_ready=ready, on_drain=on_drain)
    metrics_server: DrainingServer | None = None
    if metrics is not None and listening.metrics_sockets:
        few = Connections(_METRICS_CONNECTIONS, _METRICS_CONNECTIONS)
        guards = Guards(limits, connections=few)
        metrics_server = DrainingServer(uvicorn.Config(metrics, **_COMMON), Shared(guards, DirectRequests()), _METRICS_DRAIN, 0)
    for listener in (*listening.sockets, *listening.metrics_sockets):
        start_listening(listener)
    with _stopped_by_signals(server):
        await _serve_together(server, listening, metrics_server, stop)


class DrainingServer(uvicorn.Server):
    """uvicorn's server, with a regular check of the deadlines of its connections (the sweep) and a drain with a time limit.

    It does not handle signals.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        shared: Shared,
        drain: float,
        notice: float,
        tls: Tls | None = None,
        on_ready: Callable[[], Awaitable[None]] | None = None,
        on_drain: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(config)
        self.guards = shared.guards
        self._shared = shared
        self._drain, self._notice = drain, notice
        self._tls = tls
        self._exiting, self._aborted = asyncio.Event(), asyncio.Event()
        self._acceptors: list[Acceptor] = []
        self._on_ready = on_ready
        self._on_drain = on_drain

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def stop(self) -> None:
        """Stop the server. The first call drains it, the second call aborts its connections."""
        if self.should_exit:
            self._aborted.set()
        self.begin_drain()

    def begin_drain(self) -> None:
        """Begin to stop the server: from now on, each answer is the last one on its connection. A second call has no effect."""
        self.should_exit = True
        self._exiting.set()
        if self.guards.is_draining:
            return
        self.guards.is_draining = True
        if self._on_drain is not None:
            self._on_drain()
        for connection in self._list_connections():
            connection.begin_drain()

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        helpers = [asyncio.create_task(self._sweep())]
        if self._tls is not None:
            helpers.append(asyncio.create_task(self._tls.watch()))
        try:
            await super().serve(sockets)
        finally:
            for helper in helpers:
                helper.cancel()
            self.guards.connections.log_refused(math.inf)
            # Connections are left here only if the caller was cancelled.
            self._abort_all()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections. This replaces uvicorn's method: `Acceptor` accepts them, not the event loop."""
        deadline = self.guards.limits.header_deadline
        self._acceptors = [
            Acceptor(listener, self._open_protocol, self.guards.connections, self._tls, deadline) for listener in sockets or ()
        ]
        self.started = True

    def _open_protocol(self, place: Place) -> GuardedProtocol:
        return GuardedProtocol(self._shared, place, self.config, self.server_state, {})

    async def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        # `_open_protocol` opens all connections of this server.
        connections = cast(set[GuardedProtocol], self.server_state.connections)
        while True:
            await self.guards.sweep(connections, loop.time())
            await asyncio.sleep(self.guards.sweep_interval)

    async def main_loop(self) -> None:
        if self._on_ready is None:
            await self._tick_until_exit()
            return
        # Runs in parallel with the main loop, so that a stop works while `on_ready` still runs.
        ready = asyncio.ensure_future(self._on_ready())
        ready.add_done_callback(self._stop_if_failed)
        await self._tick_until_exit()
        if not ready.done():
            ready.cancel()
        await asyncio.wait([ready])

    async def _tick_until_exit(self) -> None:
        """Renew the date of the answers until the server stops.

        This replaces uvicorn's loop, which wakes up ten times per second and notices a stop up to 0.1 s late.
        """
        while not await self.on_tick(0):
            await wait_for_event(self._exiting, _DATE_PERIOD)

    def _stop_if_failed(self, ready: "asyncio.Future[None]") -> None:
        self.failure = None if ready.cancelled() else ready.exception()
        if self.failure is not None:
            self.begin_drain()

    failure: BaseException | None = None
    """The exception that `on_ready` raised, or None."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer the requests that have arrived, within the time of the drain.

        Then abort all connections, and cancel the requests that are still running.

        This replaces uvicorn's method, which could lose requests that have arrived.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._drain):
                await self._answer_the_rest()
        self._abort_all()
        for listener in sockets or ():
            listener.close()
        if running := set(self.server_state.tasks):
            _log.warning("requests were cancelled because they did not end in time", requests=len(running))
            for request in running:
                request.cancel()
            # Wait for these requests, so that they do not run while the caller shuts down.
            await asyncio.wait(running, timeout=1)

    async def _answer_the_rest(self) -> None:
        """Answer all requests that have arrived. Wait until no connection and no request is left, or until a second signal."""
        if not await wait_for_event(self._aborted, self._notice):
            await asyncio.gather(*(acceptor.finish() for acceptor in self._acceptors))
        while self._is_busy() and not self._aborted.is_set():
            for connection in self._list_connections():
                connection.close_if_quiet()
            await wait_for_event(self._aborted, _TICK)

    def _is_busy(self) -> bool:
        state = self.server_state
        return bool(state.connections or state.tasks) or any(acceptor.is_opening for acceptor in self._acceptors)

    def _list_connections(self) -> list[GuardedProtocol]:
        return [connection for connection in self.server_state.connections if isinstance(connection, GuardedProtocol)]

    def _abort_all(self) -> None:
        for acceptor in self._acceptors:
            acceptor.close()
        for connection in self._list_connections():
            connection.transport.abort()


async def _serve_together(
    server: DrainingServer, listening: Listening, metrics_server: DrainingServer | None, stop: asyncio.Event | None
) -> None:
    """Run the main server and the server for metrics. The server for metrics runs until the main server has drained."""
    helpers = []
    if metrics_server is not None:
        helpers.append(asyncio.create_task(metrics_server.serve(list(listening.metrics_sockets))))
    watcher = asyncio.create_task(_stop_when(stop, server)) if stop is not None else None
    try:
        await server.serve(list(listening.sockets))
    finally:
        if watcher is not None:
            watcher.cancel()
        if metrics_server is not None:
            metrics_server.stop()
            await asyncio.wait(helpers)
    if server.failure is not None:
        raise server.failure


async def _stop_when(stop: asyncio.Event, server: DrainingServer) -> None:
    await stop.wait()
    server.begin_drain()  # Not `stop`: after a signal, this would be the second stop, which aborts.


@contextlib.contextmanager
def _stopped_by_signals(server: DrainingServer) -> Iterator[None]:
    """Inside the `with` block, the first SIGTERM or SIGINT drains the server, and the second signal aborts it.

    Only the main thread receives signals, so this function does nothing in another thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    for number in before:
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(server.stop))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
