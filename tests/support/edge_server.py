"""The edge's server in the event loop of a test, and a client that sends given bytes."""

import asyncio
import json
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import unquote

from domogate.common.http_messages import Answer, Request
from domogate.edge import server
from domogate.edge.direct import Handler, Send
from domogate.edge.guards import Limits

QUICK = Limits(max_header=2048, header_deadline=0.4, body_deadline=0.6, keep_alive=0.8)
"""Short limits for tests. Delays of a busy machine do not count (`Guards.sweep`)."""

PATIENT = Limits(max_header=2048, header_deadline=20, body_deadline=20, keep_alive=20)

_LONG = 30.0
"""Seconds until a test fails. A passing test is faster."""

GET = b"GET /x HTTP/1.1\r\nHost: gateway\r\n\r\n"
POST = b"POST /x HTTP/1.1\r\nHost: gateway\r\n"

ASGIApp = Callable[[Any, Any, Any], Awaitable[None]]


@asynccontextmanager
async def serving(
    app: ASGIApp, limits: Limits = PATIENT, metrics_port: int | None = None, **options: Any
) -> AsyncIterator[Any]:
    """Yields the `Listening`. The server drains at the end of the block. A `Recorder` answers direct requests."""
    if isinstance(app, Recorder) and app.answers_directly:
        options.setdefault("direct", app)
    stop = options.pop("stop", None) or asyncio.Event()
    ready = asyncio.Event()

    async def on_ready(_: server.Listening) -> None:
        ready.set()

    async with server.listen("127.0.0.1", 0, "127.0.0.1", metrics_port) as listening:
        running = asyncio.create_task(
            server.run(app, listening, limits=limits, stop=stop, on_ready=on_ready, **{"drain": 1.0, "notice": 0.0, **options})
        )
        await asyncio.wait_for(ready.wait(), _LONG)
        try:
            yield listening
        finally:
            stop.set()
            await asyncio.wait_for(running, _LONG)


class RawConnection:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def read_answer(self) -> tuple[int, str, dict[str, str], bytes]:
        """Status, reason, headers (lower case; repeated ones joined) and body of the next answer."""
        head = (await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), _LONG)).decode("latin-1")
        first, *lines = head.strip().split("\r\n")
        _, status, reason = first.split(" ", 2)
        headers: dict[str, str] = {}
        for line in lines:
            name, _, value = line.partition(": ")
            headers[name.lower()] = f"{headers[name.lower()]}, {value}" if name.lower() in headers else value
        body = await asyncio.wait_for(self.reader.readexactly(int(headers.get("content-length", 0))), _LONG)
        return int(status), reason, headers, body

    async def read_all(self) -> bytes:
        """All bytes until the server closes the connection; a reset counts as closed."""
        try:
            return await asyncio.wait_for(self.reader.read(), _LONG)
        except ConnectionError:
            return b""

    async def is_closed(self) -> bool:
        return await self.read_all() == b""


@asynccontextmanager
async def raw_connection(port: int, context: ssl.SSLContext | None = None, **options: Any) -> AsyncIterator[RawConnection]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, **options)
    try:
        yield RawConnection(reader, writer)
    finally:
        writer.close()
        try:
            await asyncio.wait_for(writer.wait_closed(), 5)
        except (OSError, TimeoutError):
            writer.transport.abort()


async def exchange(port: int, data: bytes) -> tuple[int, str, dict[str, str], bytes]:
    """Send a request on a new connection and read its answer."""
    async with raw_connection(port) as connection:
        await connection.send(data)
        return await connection.read_answer()


class Recorder:
    """An app that answers with its request and records it."""

    answers_directly = True
    """If false, all requests go the ASGI way."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []
        self.disconnected = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        record = {
            "method": scope["method"],
            "path": scope["path"],
            "headers": [[name.decode(), value.decode("latin-1")] for name, value in scope["headers"]],
        }
        self.seen.append(record)
        body = b""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.disconnected.set()
                return
            body += message["body"]
            if not message["more_body"]:
                break
        record["body"] = body.decode()
        record["headers"] = [[name.decode(), value.decode("latin-1")] for name, value in scope["headers"]]
        await respond(send, 200, json.dumps(record).encode())

    def find_handler(self, method: str, url: bytes) -> Handler | None:
        return _no_answer if url.startswith(b"/") and url.isascii() else None

    async def answer(self, request: Request, _: Handler, send: Send) -> None:
        headers = [[name.decode(), value.decode("latin-1")] for name, value in request.headers]
        record = {"method": request.method, "path": unquote(request.raw_path.decode()), "headers": headers}
        self.seen.append(record)
        record["body"] = request.body.decode()
        body = json.dumps(record).encode()
        send((200, b"content-length: %d\r\n" % len(body), body))


async def _no_answer(_: Request) -> Answer:
    raise AssertionError("a Recorder answers by itself")


async def respond(send: Any, status: int, body: bytes = b"") -> None:
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def check_refusal(answer: tuple[int, str, dict[str, str], bytes], status: int) -> None:
    assert answer[0] == status, answer
    headers = answer[2]
    assert headers["connection"] == "close"
    assert headers["content-type"].startswith("text/plain")
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]+", headers["x-request-id"])
    assert "date" in headers
    assert "server" not in headers
