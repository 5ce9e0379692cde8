"""Runs uvicorn inside the caller's event loop: binds the ports, calls back when ready, drains, and aborts after a timeout."""

import asyncio
import contextlib
import errno
import functools
import math
import signal
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import uvicorn

from domogate.edge.accepting import Acceptor
from domogate.edge.connections import Connections, Place
from domogate.edge.guards import Guards, Limits
from domogate.edge.protocol import GuardedConfig, GuardedProtocol

__all__ = ["CannotListen", "Connections", "Limits", "Listening", "Tls", "listen", "loop_factory", "run"]

ASGIApp = Callable[[Any, Any, Any], Awaitable[None]]

_BACKLOG = 2048
_RECEIVE_BUFFER = 65_536
"""Bytes that the system takes from a client ahead of us. One read brings no more, and that much may wait in memory."""
_METRICS_CONNECTIONS = 16


class CannotListen(OSError):
    """The gateway cannot listen. The message names the setting."""

    def __init__(self, message: str, number: int = 0) -> None:
        super().__init__(number, message)

    def __str__(self) -> str:
        return str(self.strerror)


class Listening(msgspec.Struct, frozen=True):
    """Bound ports that accept no connection before `run`. If port 0 was requested, `port` is the actual port."""

    host: str
    port: int
    sockets: tuple[socket.socket, ...]
    metrics_port: int | None = None
    metrics_sockets: tuple[socket.socket, ...] = ()


class Tls(msgspec.Struct, frozen=True):
    """PEM files: the certificate with its chain, and the key."""

    certificate: Path
    key: Path


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """For asyncio.Runner: uvloop if it is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop


@contextlib.asynccontextmanager
async def listen(host: str, port: int, metrics_host: str, metrics_port: int | None) -> AsyncIterator[Listening]:
    """Bind the ports, so that the actual port is known before the gateway is built. Raises CannotListen."""
    with contextlib.ExitStack() as opened:
        sockets = await _bind(host, port, "port", opened)
        metrics = [] if metrics_port is None else await _bind(metrics_host, metrics_port, "metrics_port", opened)
        yield Listening(host, _port_of(sockets), tuple(sockets), _port_of(metrics) if metrics else None, tuple(metrics))


async def run(
    app: ASGIApp,
    listening: Listening,
    *,
    limits: Limits | None = None,
    connections: Connections | None = None,
    drain: float = 10.0,
    tls: Tls | None = None,
    trusted_proxies: Sequence[str] = (),
    only_https: bool = False,
    metrics: ASGIApp | None = None,
    on_ready: Callable[[Listening], Awaitable[None]] | None = None,
    on_drain: Callable[[], None] | None = None,
    on_refused: Callable[[int], None] | None = None,
    stop: asyncio.Event | None = None,
) -> None:
    """Serve until SIGTERM, SIGINT or `stop`, then drain: finish running requests and close idle connections.

    After `drain` seconds, or at a second signal, all connections are aborted. `on_ready` is called when requests are
    accepted. With `only_https` every answer tells browsers to use HTTPS only (RFC 6797). Raises CannotListen before that.
    """
    limits = limits or Limits()
    config = GuardedConfig(
        app,
        Guards(limits, on_refused, connections),
        proxy_headers=bool(trusted_proxies),
        forwarded_allow_ips=list(trusted_proxies),
        timeout_graceful_shutdown=drain,
        ssl_certfile=tls.certificate if tls else None,
        ssl_keyfile=tls.key if tls else None,
        headers=[_HSTS] if only_https else [],
        **_COMMON,
    )
    _load(config)
    ready = None if on_ready is None else functools.partial(on_ready, listening)
    server = DrainingServer(config, on_ready=ready, on_drain=on_drain)
    metrics_server: DrainingServer | None = None
    if metrics is not None and listening.metrics_sockets:
        few = Connections(_METRICS_CONNECTIONS, _METRICS_CONNECTIONS)
        guards = Guards(limits, connections=few)
        metrics_server = DrainingServer(GuardedConfig(metrics, guards, timeout_graceful_shutdown=1, **_COMMON))
    for listener in (*listening.sockets, *listening.metrics_sockets):
        _accept(listener)
    with _stopped_by_signals(server):
        await _serve_together(server, listening, metrics_server, stop)


_HSTS = ("strict-transport-security", "max-age=31536000")
"""A year. Without includeSubDomains: other hosts of the domain are not ours."""

_COMMON: dict[str, Any] = {
    "lifespan": "off",
    "log_config": None,
    "access_log": False,
    "server_header": False,
    "date_header": True,
    "backlog": _BACKLOG,
}


class DrainingServer(uvicorn.Server):
    """uvicorn's server with a sweep of its connections and a limited drain. It does not handle signals itself."""

    def __init__(
        self,
        config: GuardedConfig,
        on_ready: Callable[[], Awaitable[None]] | None = None,
        on_drain: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(config)
        self.guards = config.guards
        self._guarded_config = config
        self._on_ready = on_ready
        self._on_drain = on_drain

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def stop(self) -> None:
        """Drain; the second call aborts."""
        self.force_exit = self.should_exit
        self.should_exit = True

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        sweeper = asyncio.create_task(self._sweep())
        try:
            await super().serve(sockets)
        finally:
            sweeper.cancel()
            self.guards.connections.log_refused(math.inf)
            # Something is left here only when the caller was cancelled.
            for listening in getattr(self, "servers", ()):
                listening.close()
            self._abort_all()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's method, with our own acceptor instead of the loop's."""
        deadline = self.guards.limits.header_deadline
        acceptors: Any = [  # uvicorn only calls the two methods that close them
            Acceptor(listener, self._open_protocol, self.guards.connections, self.config.ssl, deadline)
            for listener in sockets or ()
        ]
        self.servers = acceptors
        self.started = True

    def _open_protocol(self, place: Place) -> GuardedProtocol:
        return GuardedProtocol(self._guarded_config, place, self.server_state, {})

    async def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self.guards.sweep(self.server_state.connections, loop.time())
            await asyncio.sleep(self.guards.sweep_interval)

    async def main_loop(self) -> None:
        if self._on_ready is None:
            await super().main_loop()
            return
        # In parallel with the main loop, so that a stop works while `on_ready` still runs.
        ready = asyncio.ensure_future(self._on_ready())
        ready.add_done_callback(self._stop_if_failed)
        await super().main_loop()
        if not ready.done():
            ready.cancel()
        await asyncio.wait([ready])

    def _stop_if_failed(self, ready: "asyncio.Future[None]") -> None:
        self.failure = None if ready.cancelled() else ready.exception()
        if self.failure is not None:
            self.should_exit = True

    failure: BaseException | None = None
    """The exception that `on_ready` raised."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._on_drain is not None:
            self._on_drain()
        await super().shutdown(sockets)
        self._abort_all()
        # Wait for cancelled requests, so that they do not run while the caller shuts down.
        if self.server_state.tasks:
            await asyncio.wait(self.server_state.tasks, timeout=1)

    def _abort_all(self) -> None:
        for connection in list(self.server_state.connections):
            connection.transport.abort()


async def _serve_together(
    server: DrainingServer, listening: Listening, metrics_server: DrainingServer | None, stop: asyncio.Event | None
) -> None:
    """Serve both. The server for metrics runs until the first one has drained."""
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
    server.stop()


@contextlib.contextmanager
def _stopped_by_signals(server: DrainingServer) -> Iterator[None]:
    """SIGTERM and SIGINT drain; a second signal aborts. Only the main thread receives signals."""
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


# --- binding ----------------------------------------------------------------------------------------------------------


def _load(config: uvicorn.Config) -> None:
    try:
        config.load()
    except ssl.SSLError as error:
        raise CannotListen(
            f"tls_certificate, tls_key: {config.ssl_certfile} and {config.ssl_keyfile} are not a certificate and its key"
            f" in PEM ({error.reason or error})."
        ) from error
    except OSError as error:
        raise CannotListen(
            f"tls_certificate, tls_key: {config.ssl_certfile} or {config.ssl_keyfile} cannot be read: {error.strerror}."
        ) from error


async def _bind(host: str, port: int, setting: str, opened: contextlib.ExitStack) -> list[socket.socket]:
    """One listening socket for each address of `host`, all on the same port."""
    host_setting = setting.replace("port", "host")
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError) as error:
        raise CannotListen(f"{host_setting}: {host!r} is not a known address or host name{_hint(host_setting)}.") from error
    sockets: list[socket.socket] = []
    for family, kind, protocol, _, address in dict.fromkeys(found):
        try:
            listener = opened.enter_context(socket.socket(family, kind, protocol))
        except OSError:
            continue  # a machine without IPv6
        listener.setblocking(False)
        if port:  # with port 0 it would allow another process to get the same port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        try:
            listener.bind((address[0], _port_of(sockets) if sockets else port, *address[2:]))
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL and len(found) > 1:
                listener.close()
                continue  # ::1 of localhost where IPv6 is off
            raise CannotListen(_why_not(error, host, port, setting, host_setting), error.errno or 0) from error
        sockets.append(listener)
    if not sockets:
        raise CannotListen(f"{host_setting}: {host!r} is not an address of this machine{_hint(host_setting)}.")
    return sockets


def _accept(listener: socket.socket) -> None:
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)  # accepted sockets inherit it
        listener.listen(_BACKLOG)
    except OSError as error:  # two gateways that start at the same time can both get this far
        host, port = listener.getsockname()[:2]
        raise CannotListen(_why_not(error, host, port, "port", "host"), error.errno or 0) from error


def _why_not(error: OSError, host: str, port: int, setting: str, host_setting: str) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"{setting}: {port} on {host} is already in use by another process; choose another{_hint(setting)}."
    if error.errno == errno.EACCES:
        return f"{setting}: {port} may not be used by this user; choose one from 1024 on{_hint(setting)}."
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{host_setting}: {host!r} is not an address of this machine{_hint(host_setting)}."
    return f"{host_setting}, {setting}: cannot listen on {host} port {port}: {error.strerror}."


def _hint(setting: str) -> str:
    return f" (--{setting.replace('_', '-')}, DOMOGATE_{setting.upper()})"


def _port_of(sockets: list[socket.socket]) -> int:
    port: int = sockets[0].getsockname()[1]
    return port
