"""Event streams behind the real server, in the event loop of the test."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from unittest.mock import AsyncMock

import httpx
from httpx_sse import ServerSentEvent, aconnect_sse

from domogate import events
from domogate.domain.devices import DeviceKind
from domogate.edge.guards import Limits
from domogate.edge.metrics import Metrics
from domogate.edge.stack import Edge
from domogate.http_api.app import SurfaceApp
from domogate.http_api.credentials import KeyAndToken
from support.edge_server import serving
from support.stream_setup import Credentials, StreamSetup, a_module, open_stream_setup

TIMEOUT = 60.0


class RecordingAudit:
    def __init__(self) -> None:
        self.noted: list[dict[str, Any]] = []

    def note(self, action: str, **what: Any) -> None:
        self.noted.append({"action": action, **what})


class ServedStreams:
    """Event streams behind the real server, with a user, a plant and a lamp."""

    def __init__(self, setup: StreamSetup, port: int, audit: RecordingAudit, stop: asyncio.Event, metrics: Metrics) -> None:
        self.setup = setup
        self.port = port
        self.audit = audit
        self.stop = stop
        self.metrics = metrics
        self.http = httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=TIMEOUT)

    async def build(self) -> None:
        self.anna = await self.setup.add_user("Anna")
        self.lamp = a_module(DeviceKind.LIGHT)
        self.plant = await self.setup.add_plant(self.anna, self.lamp)
        self.credentials = await self.setup.grant_access(self.anna)

    def headers(self, credentials: Credentials | None = None, **more: str) -> dict[str, str]:
        given = {name.decode(): value.decode() for name, value in (credentials or self.credentials).headers}
        return {**given, **more}

    async def get(self, query: str = "", credentials: Credentials | None = None, **more: str) -> httpx.Response:
        return await self.http.get(f"/events{query}", headers=self.headers(credentials, **more))

    @asynccontextmanager
    async def listening(self, query: str = "", **more: Any) -> AsyncIterator[AsyncIterator[ServerSentEvent]]:
        """Events as another implementation reads them."""
        async with aconnect_sse(self.http, "GET", f"/events{query}", headers=self.headers(**more)) as source:
            yield source.aiter_sse()

    async def switch(self, times: int = 1) -> None:
        for number in range(times):
            await self.setup.report(self.plant, self.lamp, on=number % 2 == 0)

    async def raw(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A stream on a bare socket, its head already read."""
        # A small buffer, so that few events fill it; without this the kernel lets it grow.
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        connection.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", self.port))
        reader, writer = await asyncio.open_connection(sock=connection, limit=1_000)
        head = "".join(f"{name}: {value}\r\n" for name, value in self.headers().items())
        writer.write(f"GET /events HTTP/1.1\r\nHost: localhost\r\n{head}\r\n".encode())
        await asyncio.wait_for(reader.readuntil(b"event: ready"), TIMEOUT)
        return reader, writer


@asynccontextmanager
async def open_served(limits: Limits | None = None, **hub_options: Any) -> AsyncIterator[ServedStreams]:
    audit, stop, metrics = RecordingAudit(), asyncio.Event(), Metrics()
    async with open_stream_setup(**hub_options) as setup:
        credentials = KeyAndToken(setup.admission, setup.verifier, audit)
        app = SurfaceApp(events.SURFACE, setup.hub, credentials, base_url="https://gateway.example", version="1.0")
        edge = Edge(
            app, is_allowed_origin=AsyncMock(return_value=False), is_ready=lambda: True, metrics=metrics, access_log=False
        )
        options: dict[str, Any] = {} if limits is None else {"limits": limits}
        async with serving(edge, on_drain=setup.hub.drain, stop=stop, **options) as listening:
            served = ServedStreams(setup, listening.port, audit, stop, metrics)
            await served.build()
            try:
                yield served
            finally:
                await served.http.aclose()
