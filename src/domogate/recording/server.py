"""A small HTTP server for `domogate record` and `domogate replay`. Connections, sizes and times are limited."""

import re
import sys
from abc import ABC, abstractmethod
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR, socket
from threading import BoundedSemaphore, Timer
from typing import Any, NamedTuple

LARGEST_REQUEST = 2**20
_MOST_CONNECTIONS = 64
_IDLE_FOR, _LONGEST_CONNECTION = 30.0, 600.0
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_HEADER = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


class Request(NamedTuple):
    """A request with its whole body."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class Answer(NamedTuple):
    """An answer. The server adds the header with the length of the body.

    An answer to HEAD has no body. Its headers can name the length that the body of GET has.
    """

    status: int
    headers: list[tuple[str, str]]
    body: bytes


class Responder(ABC):
    """Answers requests, in several threads."""

    @abstractmethod
    def answer(self, request: Request) -> Answer:
        """Return the answer. This method must not raise an exception."""


class ToolServer(ThreadingHTTPServer):
    """An HTTP server on one address. `responder` answers the requests. Raises OSError if the address cannot be used."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, host: str, port: int, responder: Responder) -> None:
        self.responder = responder
        self._free = BoundedSemaphore(_MOST_CONNECTIONS)
        super().__init__((host, port), _Handler)

    @property
    def url(self) -> str:
        return f"http://{self.server_address[0]!s}:{self.server_port}"

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        end = Timer(_LONGEST_CONNECTION, _abort, (request,))
        end.daemon = True
        end.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            end.cancel()
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Show an unexpected error. An OSError is not shown: it occurs, for example, when a client ends its connection."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def _abort(connection: socket) -> None:
    with suppress(OSError):
        connection.shutdown(SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _IDLE_FOR
    server: ToolServer

    def _serve(self) -> None:
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not (length.isascii() and length.isdigit() and len(length) < 10):
            self._refuse(411, "Send the length of the body.")
        elif int(length) > LARGEST_REQUEST:
            self._refuse(413, f"The body has more than {LARGEST_REQUEST} bytes.")
        elif not self.path.startswith("/"):
            self._refuse(400, "The target is not a path.")
        else:
            body = self.rfile.read(int(length))
            if len(body) < int(length):  # The client has ended its connection.
                self.close_connection = True
                return
            headers = {name.lower(): value for name, value in self.headers.items()}
            self._write(self.server.responder.answer(Request(self.command, self.path, headers, body)))

    def __getattr__(self, name: str) -> Any:
        """Return the method that the base class looks for, such as do_GET.

        All HTTP methods in `_METHODS` are served in the same way.
        """
        if name.removeprefix("do_") in _METHODS:
            return self._serve
        raise AttributeError(name)

    def _refuse(self, status: int, text: str) -> None:
        self.close_connection = True
        self._write(Answer(status, [("Content-Type", "text/plain"), ("Connection", "close")], text.encode()))

    def _write(self, answer: Answer) -> None:
        self.send_response_only(answer.status)
        for name, value in answer.headers:
            if _HEADER.fullmatch(value):
                self.send_header(name, value)
        has_length = any(name.lower() == "content-length" for name, _ in answer.headers)
        if answer.status not in (204, 304) and not has_length:
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD" and answer.status not in (204, 304):
            self.wfile.write(answer.body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: a path may contain personal data."""
