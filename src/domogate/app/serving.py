"""Runs a gateway until it is stopped."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import msgspec

from domogate.app.gateway import Gateway
from domogate.app.processes import GatewayProcess
from domogate.app.server_metrics import measure_server
from domogate.app.single_gateway import only_gateway
from domogate.app.tools import Tools
from domogate.common.log import get_logger
from domogate.common.memory import enable_collector
from domogate.console.shell import NO_DEMO, Demo
from domogate.drivers import separate_settings
from domogate.edge import server
from domogate.edge.files import count_allowed_connections
from domogate.edge.listening import ManagedSocket
from domogate.edge.logs import setup_logs
from domogate.edge.stack import ASGIApp
from domogate.ports import OtherCluster
from domogate.settings import BadSettings, Mistake, Settings

_log = get_logger(__name__)


async def serve(
    settings: Settings,
    on_ready: Callable[[Gateway], Awaitable[None]] | None = None,
    *,
    named_drivers: bool = False,
    demo: Demo = NO_DEMO,
    process: GatewayProcess | None = None,
    managed: Sequence[ManagedSocket] = (),
) -> None:
    """Run a gateway until SIGTERM or SIGINT, then drain. `on_ready` is called as soon as requests are accepted.

    `managed` has the sockets that a service manager such as systemd opened. If several processes share a port, `process`
    describes this process, and `serve` also ends when the supervisor asks for it. If the gateway cannot start, raises
    BadSettings, CannotListen, GatewayRuns, OtherCluster, DatabaseUnusable, DatabaseTooNew, DatabaseInUse or SecretKeyMissing.
    With `named_drivers`, raises UnnamedDriversError if the simulator drives a module only because no estate file names its
    driver. If the database is found damaged while the gateway runs, the gateway stops, and DatabaseUnusable is raised.
    """
    number = None if process is None else process.number
    setup_logs(settings.log_level, settings.log_format, process=number)
    async with _listen(settings, reuse_port=process is not None, managed=managed) as (listening, connections):
        # The port is part of the issuer of every token, so it must be known before the gateway is built.
        drivers = settings.drivers if settings.cluster is None else separate_settings(settings.drivers)
        gateway = Gateway(msgspec.structs.replace(settings, port=listening.port, drivers=drivers), demo, number)
        if process is not None:
            process.watch_supervisor(gateway.must_stop)
        tls = _tls(settings)
        with measure_server(settings, gateway.metrics, connections, tls), only_gateway(settings):
            try:
                application = await gateway.start(named_drivers=named_drivers)
            except OtherCluster:  # All parts except the cluster have started.
                await _stop(gateway, settings.drain)
                raise

            async def tell(_: object) -> None:
                if on_ready is not None:
                    await on_ready(gateway)
                await gateway.driving.start_plants()

            def begin_stop() -> None:
                _log.info("the gateway stops: it answers the requests that have arrived")
                gateway.drain()

            try:
                await _run(
                    settings,
                    application,
                    listening,
                    connections,
                    tls,
                    direct=application,
                    metrics=gateway.metrics.app,
                    on_ready=tell,
                    on_drain=begin_stop,
                    on_refused=gateway.metrics.count_refused,
                    stop=gateway.must_stop,
                )
            finally:
                if await _stop(gateway, settings.drain):
                    _log.info("the gateway has stopped")
            if gateway.damage is not None:
                raise gateway.damage


async def serve_for_tests(
    settings: Settings,
    document: str,
    folder: Path,
    prepare: Callable[[Tools, str], Awaitable[None]],
    on_ready: Callable[[], Awaitable[None]],
) -> None:
    """Run a gateway with the test API until SIGTERM or SIGINT. `folder` is an empty folder for the data.

    `prepare` may add initial data. Its arguments are the `Tools` (the store and its services) and the token for the management
    API. Raises Invalid if the estate file `document` has mistakes.
    """
    from domogate.app.kit_data import KitData  # Only tests of applications need the test kit.
    from domogate.app.resettable import ResettableGateway

    setup_logs(settings.log_level, settings.log_format)
    async with _listen(settings) as (listening, connections):
        data = KitData(msgspec.structs.replace(settings, port=listening.port), folder)
        await data.prepare(document, lambda tools: prepare(tools, data.management_token))
        enable_collector()
        gateway = ResettableGateway(data)
        await gateway.start()
        try:
            await _run(
                settings,
                gateway,
                listening,
                connections,
                _tls(settings),
                on_ready=lambda _: on_ready(),
                on_drain=gateway.drain,
                stop=gateway.must_stop,
                notice=0.0,  # No load balancer sends requests to this gateway.
            )
        finally:
            await _stop(gateway, settings.drain)


@asynccontextmanager
async def _listen(
    settings: Settings, *, reuse_port: bool = False, managed: Sequence[ManagedSocket] = ()
) -> AsyncIterator[tuple[server.Listening, server.Connections]]:
    _allow_connections(settings.connections_most)
    connections = server.Connections(settings.connections_most, settings.connections_most_per_address, settings.trusted_proxies)
    async with server.listen(
        settings.host, settings.port, settings.metrics_host, settings.metrics_port, reuse_port=reuse_port, managed=managed
    ) as listening:
        yield listening, connections


async def _run(
    settings: Settings,
    application: ASGIApp,
    listening: server.Listening,
    connections: server.Connections,
    tls: server.Tls | None,
    **options: Any,
) -> None:
    """Run the server with the settings. All further keyword arguments are passed on to `server.run`."""
    await server.run(
        application,
        listening,
        limits=server.Limits(
            max_header=settings.max_header,
            header_deadline=settings.header_deadline,
            body_deadline=settings.body_deadline,
            keep_alive=settings.keep_alive,
        ),
        connections=connections,
        drain=settings.drain,
        tls=tls,
        trusted_proxies=settings.trusted_proxies,
        only_https=settings.only_https,
        **options,
    )


class _Stoppable(Protocol):
    async def stop(self) -> None: ...


async def _stop(gateway: _Stoppable, seconds: float) -> bool:
    """Stop the gateway, and return True. If parts still wait for the database after this number of seconds, return False."""
    try:
        async with asyncio.timeout(seconds):
            await gateway.stop()
    except TimeoutError:
        _log.error("the gateway did not stop in time, and ends without writing its buffers", seconds=seconds)
        return False
    return True


def _allow_connections(most: int) -> None:
    """Let the process open enough files for `most` connections. Raises BadSettings if the system does not allow it."""
    allowed = count_allowed_connections(most)
    if allowed < most:
        problem = (
            f"{most} connections need {most - allowed} more open files than this process may have; raise that limit (ulimit -n,"
            f" or LimitNOFILE= of systemd), or set connections_most and streams_most to at most {max(0, allowed)}."
        )
        raise BadSettings([Mistake("connections_most", "limit of open files", problem)])


def _tls(settings: Settings) -> server.Tls | None:
    if settings.tls_certificate is None or settings.tls_key is None:
        return None
    return server.Tls(settings.tls_certificate, settings.tls_key)
