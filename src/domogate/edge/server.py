"""Builds and runs uvicorn inside the caller's event loop: binds, tells when it listens, drains, and cuts what does not end."""

import asyncio
import contextlib
import errno
import signal
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import uvicorn

from domogate.edge.protocol import GuardedConfig, Guards, Limits

ASGIApp = Callable[[Any, Any, Any], Awaitable[None]]

_BACKLOG = 2048


class CannotListen(Exception):
    """The gateway cannot start like this; the message names the setting."""


class Bound(msgspec.Struct, frozen=True):
    """Where the gateway really listens: `port` is the one picked when 0 was asked for."""

    host: str
    port: int
    metrics_port: int | None = None


class Tls(msgspec.Struct, frozen=True):
    """Files in PEM: the certificate with its chain, and its key."""

    certificate: Path
    key: Path


class MetricsBind(msgspec.Struct, frozen=True):
    """A second listener, so that /metrics never shares a bind with the API."""

    app: ASGIApp
    host: str
    port: int


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """For asyncio.Runner: uvloop where there is one."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop


async def run(
    app: ASGIApp,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    limits: Limits | None = None,
    drain: float = 10.0,
    tls: Tls | None = None,
    trusted_proxies: Sequence[str] = (),
    metrics: MetricsBind | None = None,
    on_ready: Callable[[Bound], Awaitable[None]] | None = None,
    on_drain: Callable[[], None] | None = None,
    on_refused: Callable[[int], None] | None = None,
    stop: asyncio.Event | None = None,
) -> None:
    """Serve until SIGTERM, SIGINT or `stop`, then drain. Raises CannotListen before anything is accepted."""
    limits = limits or Limits()
    config = GuardedConfig(
        app,
        Guards(limits, on_refused),
        proxy_headers=bool(trusted_proxies),
        forwarded_allow_ips=list(trusted_proxies),
        timeout_graceful_shutdown=drain,
        ssl_certfile=tls.certificate if tls else None,
        ssl_keyfile=tls.key if tls else None,
        **_COMMON,
    )
    _load(config)
    with contextlib.ExitStack() as open_sockets:
        sockets = await _bind(host, port, "port", open_sockets)
        metrics_sockets = await _bind(metrics.host, metrics.port, "metrics_port", open_sockets) if metrics else []
        bound = Bound(host, _port_of(sockets), _port_of(metrics_sockets) if metrics else None)
        server = DrainingServer(config, on_ready=_call_with(on_ready, bound), on_drain=on_drain)
        beside: list[tuple[DrainingServer, list[socket.socket]]] = []
        if metrics is not None:
            metrics_config = GuardedConfig(metrics.app, Guards(limits), timeout_graceful_shutdown=1, **_COMMON)
            beside.append((DrainingServer(metrics_config), metrics_sockets))
        with _stopped_by_signals(server):
            await _serve_together(server, sockets, beside, stop)


_COMMON: dict[str, Any] = {
    "lifespan": "off",
    "log_config": None,
    "access_log": False,
    "server_header": False,
    "date_header": True,
    "backlog": _BACKLOG,
}


class DrainingServer(uvicorn.Server):
    """uvicorn's server; signals are ours, connections are swept, and a drain that takes too long ends in a cut."""

    def __init__(
        self,
        config: GuardedConfig,
        on_ready: Callable[[], Awaitable[None]] | None = None,
        on_drain: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(config)
        self.guards = config.guards
        self._on_ready = on_ready
        self._on_drain = on_drain

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def stop(self) -> None:
        """Drain; asked a second time, cut."""
        self.force_exit = self.should_exit
        self.should_exit = True

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        sweeper = asyncio.create_task(self._sweep())
        try:
            await super().serve(sockets)
        finally:
            sweeper.cancel()
            # Only when the caller was cancelled is anything left here.
            for listening in getattr(self, "servers", ()):
                listening.close()
            self._cut()

    async def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self.guards.sweep(self.server_state.connections, loop.time())
            await asyncio.sleep(self.guards.sweep_interval)

    async def main_loop(self) -> None:
        if self._on_ready is None:
            await super().main_loop()
            return
        # Beside the main loop, not before it: a stop must be heard while the caller is still busy being told.
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
    """What `on_ready` raised."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._on_drain is not None:
            self._on_drain()
        await super().shutdown(sockets)
        self._cut()
        # Cancelled requests end here and not in the middle of their caller's tear-down.
        if self.server_state.tasks:
            await asyncio.wait(self.server_state.tasks, timeout=1)

    def _cut(self) -> None:
        for connection in list(self.server_state.connections):
            connection.transport.abort()


async def _serve_together(
    server: DrainingServer,
    sockets: list[socket.socket],
    beside: list[tuple[DrainingServer, list[socket.socket]]],
    stop: asyncio.Event | None,
) -> None:
    """The servers beside the first one live as long as it does, its drain included."""
    others = [asyncio.create_task(other.serve(its_sockets)) for other, its_sockets in beside]
    watcher = asyncio.create_task(_stop_when(stop, server)) if stop is not None else None
    try:
        await server.serve(sockets)
    finally:
        if watcher is not None:
            watcher.cancel()
        for other, _ in beside:
            other.stop()
        if others:
            await asyncio.wait(others)
    if server.failure is not None:
        raise server.failure


async def _stop_when(stop: asyncio.Event, server: DrainingServer) -> None:
    await stop.wait()
    server.stop()


def _call_with(on_ready: Callable[[Bound], Awaitable[None]] | None, bound: Bound) -> Callable[[], Awaitable[None]] | None:
    return None if on_ready is None else lambda: on_ready(bound)


@contextlib.contextmanager
def _stopped_by_signals(server: DrainingServer) -> Iterator[None]:
    """SIGTERM and SIGINT drain, a second one cuts. Only the main thread can hear them."""
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


async def _bind(host: str, port: int, setting: str, open_sockets: contextlib.ExitStack) -> list[socket.socket]:
    """One listening socket for each address of `host`, all on the same port."""
    host_setting = setting.replace("port", "host")
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError) as error:
        raise CannotListen(f"{host_setting}: {host!r} is no address or name known here{_hint(host_setting)}.") from error
    sockets: list[socket.socket] = []
    for family, kind, protocol, _, address in dict.fromkeys(found):
        try:
            listener = open_sockets.enter_context(socket.socket(family, kind, protocol))
        except OSError:
            continue  # a machine without IPv6
        listener.setblocking(False)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        try:
            listener.bind((address[0], _port_of(sockets) if sockets else port, *address[2:]))
            listener.listen(_BACKLOG)
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL and len(found) > 1:
                listener.close()
                continue  # ::1 of localhost where IPv6 is off
            raise CannotListen(_why_not(error, host, port, setting, host_setting)) from error
        sockets.append(listener)
    if not sockets:
        raise CannotListen(f"{host_setting}: {host!r} is not an address of this machine{_hint(host_setting)}.")
    return sockets


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
