"""A small HTTP server on the loopback interface. It receives the browser after a login (RFC 8252 §7.3)."""

import secrets
import socket
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import TracebackType
from urllib.parse import parse_qs, urlsplit

from domogate_client.errors import LoginFailed

_HOSTS = ("127.0.0.1", "::1")
_SLOWEST = 5.0
"""The seconds that one connection may take. Another program on this machine may connect and send nothing."""
_DONE = b"<!doctype html><meta charset=utf-8><title>Logged in</title><p>You can close this page and return to the application."
_WRONG = b"<!doctype html><meta charset=utf-8><title>Not found</title><p>This address only receives the answer of a login."


class _Handler(BaseHTTPRequestHandler):
    timeout = _SLOWEST
    server: "_Server"

    def do_GET(self) -> None:
        target = urlsplit(self.path)
        given = parse_qs(target.query).get("state", [""])[0]
        is_answer = target.path == self.server.path and secrets.compare_digest(given.encode(), self.server.state.encode())
        body = _DONE if is_answer else _WRONG
        self.send_response(200 if is_answer else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        if is_answer:
            self.server.callback = self.path

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing: the path contains the code."""


class _Server(HTTPServer):
    path = "/"
    state = ""
    callback = ""

    def handle_error(self, request: object, client_address: object) -> None:
        """Write nothing: the connection of another program ended too early, which does not matter."""


class _Server6(_Server):
    address_family = socket.AF_INET6


class LoopbackServer:
    """Listens at a redirect URI. If the URI has no port, the system chooses a free port."""

    def __init__(self, redirect_uri: str) -> None:
        parts = urlsplit(redirect_uri)
        host = parts.hostname or ""
        if parts.scheme != "http" or host not in _HOSTS:
            raise LoginFailed("wrong_redirect_uri", f"{redirect_uri} is not http://127.0.0.1/… or http://[::1]/…")
        kind = _Server6 if ":" in host else _Server
        self._server = kind((host, parts.port or 0), _Handler)
        self._server.path = parts.path or "/"
        shown = f"[{host}]" if ":" in host else host
        self.redirect_uri = f"http://{shown}:{self._server.server_port}{parts.path}"

    def wait(self, state: str, patience: float) -> str:
        """Return the path and query with which the browser came back. Requests without the state are answered with 404."""
        self._server.state = state
        ends = time.monotonic() + patience
        while not self._server.callback:
            left = ends - time.monotonic()
            if left <= 0:
                raise LoginFailed("timeout", f"the person did not log in within {patience:.0f} s")
            self._server.timeout = left
            self._server.handle_request()
        return self._server.callback

    def close(self) -> None:
        self._server.server_close()

    def __enter__(self) -> "LoopbackServer":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
