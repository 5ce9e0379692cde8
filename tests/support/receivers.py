"""Receivers of webhooks: HTTP servers that record requests and answer as configured."""

import asyncio
import ssl
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec
from aiohttp import web
from standardwebhooks import Webhook as StandardWebhook

PATIENCE = 60.0


class ReceivedRequest(msgspec.Struct):
    """One request of the gateway."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    def verify(self, secret: str) -> Any:
        """Verify with the library of the standard, which raises for a wrong or old signature."""
        return StandardWebhook(secret).verify(self.body, self.headers)


class Receiver:
    """The requests, and the answer to them: a status, or a function of the request."""

    def __init__(self, url: str = "") -> None:
        self.url = url
        self.got: list[ReceivedRequest] = []
        self.answer: int | Callable[[ReceivedRequest], int | web.StreamResponse] = 200
        self.delay = 0.0
        self.most_at_once = 0
        self._at_once = 0
        self._arrived = asyncio.Condition()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        got = ReceivedRequest(
            request.path_qs, {name.lower(): value for name, value in request.headers.items()}, await request.read()
        )
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            if self.delay:
                await asyncio.sleep(self.delay)
            answer = self.answer if isinstance(self.answer, int) else self.answer(got)
        finally:
            self._at_once -= 1
        async with self._arrived:
            self.got.append(got)
            self._arrived.notify_all()
        return web.Response(status=answer) if isinstance(answer, int) else answer

    async def wait_for(self, count: int) -> list[ReceivedRequest]:
        """Wait for this many requests."""
        async with asyncio.timeout(PATIENCE), self._arrived:
            await self._arrived.wait_for(lambda: len(self.got) >= count)
        return self.got

    @property
    def ids(self) -> list[str]:
        return [got.id for got in self.got]


@asynccontextmanager
async def receivers(count: int = 1, tls: ssl.SSLContext | None = None) -> AsyncIterator[list[Receiver]]:
    """All on one port of loopback, each with its own path."""
    every = [Receiver() for _ in range(count)]
    app = web.Application()
    for number, receiver in enumerate(every):
        app.router.add_route("*", f"/{number}", receiver.handle)
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    port = runner.addresses[0][1]
    for number, receiver in enumerate(every):
        receiver.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{port}/{number}"
    try:
        yield every
    finally:
        await runner.cleanup()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, *_: Any) -> None:
        """The gateway may be killed during a request."""


class ThreadedReceiver:
    """The same on its own thread, for tests that wait for processes."""

    def __init__(self) -> None:
        self.got: list[ReceivedRequest] = []
        self.status = 200
        self.unanswered = 0
        self.answering = threading.Event()
        """While this is cleared, requests are read and not answered."""
        self.answering.set()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                got = ReceivedRequest(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
                receiver.got.append(got)
                if not receiver.answering.is_set():
                    receiver.unanswered += 1
                    receiver.answering.wait(PATIENCE)
                self.send_response(receiver.status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Do not log."""

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def of(self, path: str) -> list[ReceivedRequest]:
        return [got for got in list(self.got) if got.path == path]

    def wait_for(self, holds: Callable[[list[ReceivedRequest]], bool]) -> list[ReceivedRequest]:
        deadline = time.monotonic() + PATIENCE
        while not holds(self.got):
            assert time.monotonic() < deadline, f"{len(self.got)} deliveries arrived, and not what was waited for"
            time.sleep(0.01)
        return self.got

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
