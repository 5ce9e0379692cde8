"""Sends a request, and keeps the request and its answer. An answer that is too long or takes too long counts as a failure."""

import http.client
import json
import re
import shlex
import ssl
import time
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

LARGEST_ANSWER = 16 * 2**20
KEY_HEADER = "Ocp-Apim-Subscription-Key"


class Unreachable(Exception):
    """No connection to the server can be opened."""


class Credentials(NamedTuple):
    """A subscription key and a token. If one of them is empty, its header is not sent.

    A report shows a curl command for each request. In this command, two shell variables stand for the key and the token, so the
    report contains no secret. `key_name` and `token_name` are the names of these variables.
    """

    key: str
    token: str
    key_name: str = "KEY"
    token_name: str = "TOKEN"


class Exchange(NamedTuple):
    """A request and its answer. If the answer is not usable, `failure` says why. Without a complete answer, `status` is 0."""

    method: str
    url: str
    credentials: Credentials
    body: bytes | None
    content_type: str | None
    status: int
    headers: dict[str, str]
    answer: bytes
    failure: str = ""

    @property
    def command(self) -> str:
        """The curl command that repeats the request. It reads the key and the token from variables of the shell."""
        parts = [f"curl -i -X {self.method}"]
        if self.credentials.key:
            parts.append(f'-H "{KEY_HEADER}: ${self.credentials.key_name}"')
        if self.credentials.token:
            parts.append(f'-H "Authorization: Bearer ${self.credentials.token_name}"')
        if self.body is not None:
            header = "Content-Type:" if self.content_type is None else f"Content-Type: {self.content_type}"
            parts.append(f"-H {shlex.quote(header)}")
            parts.append(f"-d {shlex.quote(self.body.decode())}")
        return " ".join([*parts, shlex.quote(self.url)])

    def read_json(self) -> Any:
        """Return the body. Raises ValueError if it is not JSON in UTF-8, or if it is nested too deeply."""
        try:
            return json.loads(self.answer.decode("utf-8"), parse_constant=_refuse_constant)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def parse_url(url: str) -> SplitResult:
    """Return the parts of the URL. Raises ValueError if no request can be sent to it."""
    try:
        parts = urlsplit(url)
        _ = parts.port, (parts.hostname or "").encode("idna")
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname or not re.fullmatch("[!-~]*", parts.path):
        raise ValueError(f"{url!r} is not a URL such as https://gateway.example.com")
    return parts


class Client:
    """Sends requests to one address, one after the other. It follows no redirect."""

    def __init__(self, base_url: str, *, timeout: float, ca_file: str | None = None) -> None:
        parts = parse_url(base_url)
        self.base_url = base_url.rstrip("/")
        self._parts, self._timeout = parts, timeout
        self._tls = ssl.create_default_context(cafile=ca_file) if parts.scheme == "https" else None
        self._connection: http.client.HTTPConnection | None = None
        self.sent = 0

    def send(
        self,
        method: str,
        path: str,
        credentials: Credentials,
        body: bytes | None = None,
        content_type: str | None = "application/json",
    ) -> Exchange:
        """Send a request. If the server had closed the idle connection, a GET is sent once more, on a new connection.

        If there is no complete answer, the result has the status 0 and a `failure`. Raises Unreachable if no connection can be
        opened.
        """
        tries = 2 if method == "GET" else 1
        while True:
            tries -= 1
            try:
                return self._send(method, path, credentials, body, content_type)
            except (OSError, http.client.HTTPException) as failed:
                self.close()
                was_idle = isinstance(failed, (ConnectionError, http.client.BadStatusLine))
                if tries == 0 or not was_idle:
                    why = f"no complete answer: {str(failed) or type(failed).__name__}"
                    return Exchange(method, self._url(path), credentials, body, content_type, 0, {}, b"", why)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _send(self, method: str, path: str, credentials: Credentials, body: bytes | None, content_type: str | None) -> Exchange:
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if credentials.key:
            headers[KEY_HEADER] = credentials.key
        if credentials.token:
            headers["Authorization"] = f"Bearer {credentials.token}"
        if body is not None and content_type is not None:
            headers["Content-Type"] = content_type
        connection = self._connect()
        self.sent += 1
        target = f"{self._parts.path.rstrip('/')}/{path}" if path else self._parts.path or "/"
        connection.request(method, target, body=body, headers=headers)
        answer = connection.getresponse()
        content = self._read(answer)
        found = {name.lower(): value for name, value in answer.getheaders()}
        return Exchange(method, self._url(path), credentials, body, content_type, answer.status, found, content)

    def _url(self, path: str) -> str:
        return f"{self.base_url}/{path}" if path else self.base_url

    def _read(self, answer: http.client.HTTPResponse) -> bytes:
        deadline, content, declared = time.monotonic() + self._timeout, bytearray(), answer.length
        while declared is None or len(content) < declared:
            part = answer.read1(65_536 if declared is None else min(65_536, declared - len(content)))
            if not part:
                break
            content += part
            if len(content) > LARGEST_ANSWER:
                raise http.client.HTTPException(f"it has more than {LARGEST_ANSWER} bytes")
            if time.monotonic() > deadline:
                raise TimeoutError("it did not end in time")
        if declared is not None and len(content) < declared:
            raise http.client.HTTPException(f"the connection was closed after {len(content)} of {declared} bytes of the body")
        answer.close()  # The connection can be used again only after its last answer is closed.
        return bytes(content)

    def _connect(self) -> http.client.HTTPConnection:
        if self._connection is None:
            host, port = self._parts.hostname or "", self._parts.port
            if self._tls is None:
                connection = http.client.HTTPConnection(host, port, timeout=self._timeout)
            else:
                connection = http.client.HTTPSConnection(host, port, timeout=self._timeout, context=self._tls)
            try:
                connection.connect()
            except OSError as failed:
                raise Unreachable(f"no connection to {host}: {failed}") from None
            self._connection = connection
        return self._connection
