"""An HTTP server that answers each request as a test says, and records the requests."""

import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PLANTS = b'{"plants":[]}'


@dataclass(frozen=True)
class Step:
    """One answer. `drop`: read the request, then close the connection. `pause`: wait in the middle of the body.

    `drip`: never end the answer, and send a byte now and then, in this part of the answer: `headers` or `body`.
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = PLANTS
    drop: bool = False
    pause: float = 0.0
    drip: str = ""


@dataclass(frozen=True)
class Received:
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    at: float


class ScriptedServer:
    """Gives the steps in their order. The last step is repeated."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.got: list[Received] = []
        self._steps = list(steps)
        script = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                script.got.append(Received(self.command, self.path, headers, body, time.monotonic()))
                step = script.next_step()
                if step.drop:
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True
                    return
                if step.drip == "headers":
                    self.drip(b"HTTP/1.1 200 OK\r\nx-slow: ")
                if step.drip == "body":
                    self.drip(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n")
                self.send_response(step.status)
                for name, value in {"content-length": str(len(step.body)), **step.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                half = len(step.body) // 2 if step.pause else len(step.body)
                self.wfile.write(step.body[:half])
                self.wfile.flush()
                time.sleep(step.pause)
                self.wfile.write(step.body[half:])

            def drip(self, beginning: bytes) -> None:
                """Send this and then a byte now and then, until the client leaves."""
                self.wfile.write(beginning)
                while True:
                    self.wfile.write(b"x")
                    time.sleep(0.02)

            def do_GET(self) -> None:
                self.answer()

            def do_POST(self) -> None:
                self.answer()

            def log_message(self, *_: Any) -> None:
                """Do not log."""

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_: Any) -> None:
                """A client that leaves early is part of the test."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def next_step(self) -> Step:
        return self._steps.pop(0) if len(self._steps) > 1 else self._steps[0]

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@contextmanager
def scripted(*steps: Step) -> Iterator[ScriptedServer]:
    server = ScriptedServer(steps)
    try:
        yield server
    finally:
        server.close()
