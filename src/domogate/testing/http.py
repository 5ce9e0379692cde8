"""A small HTTP client for the test API. It keeps one connection open."""

import http.client
import json
import selectors
import threading
from typing import Any
from urllib.parse import urlsplit

_TIMEOUT = 60.0


class Refused(Exception):
    """The gateway refused a request of the test kit. The text says why."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


class Answer:
    """The answer to a request."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    def json(self) -> Any:
        return json.loads(self.body)

    def __repr__(self) -> str:
        return f"<Answer {self.status} {self.body[:200]!r}>"


class HttpClient:
    """Sends requests to one gateway."""

    def __init__(self, base_url: str) -> None:
        parts = urlsplit(base_url)
        self._host, self._port = parts.hostname or "", parts.port or 80
        self._lock = threading.Lock()
        self._connection: http.client.HTTPConnection | None = None

    def send(self, method: str, path: str, headers: dict[str, str], body: object = None) -> Answer:
        """Send a request, with `body` as JSON. Raises OSError or http.client.HTTPException if no whole answer comes."""
        sent = None if body is None else json.dumps(body).encode()
        if sent is not None:
            headers = {**headers, "Content-Type": "application/json"}
        with self._lock:
            try:
                return self._send(method, path, headers, sent)
            except (OSError, http.client.HTTPException):
                self.close()
                raise

    def _send(self, method: str, path: str, headers: dict[str, str], body: bytes | None) -> Answer:
        if self._connection is not None and _is_closed_by_server(self._connection):
            self.close()
        if self._connection is None:
            self._connection = http.client.HTTPConnection(self._host, self._port, timeout=_TIMEOUT)
        self._connection.request(method, path, body, headers)
        response = self._connection.getresponse()
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _is_closed_by_server(connection: http.client.HTTPConnection) -> bool:
    """Whether the server has closed an idle connection. Only a closed connection has something to read between two requests."""
    if connection.sock is None:
        return False
    # Not `select.select`, which refuses a socket if the process has more than 1,023 open files.
    with selectors.DefaultSelector() as selector:
        selector.register(connection.sock, selectors.EVENT_READ)
        return bool(selector.select(0))
