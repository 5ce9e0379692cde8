"""A small implementation of the nine families in memory, which can break one rule of the contract at a time."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from domogate.conformance.operations import OPERATIONS, Operation
from support.mock_bodies import (
    AMBIENT,
    CAMERA,
    FOREIGN,
    LIGHT,
    LOCK,
    PLANT,
    PLUG,
    REMOTE,
    SCENE,
    SECOND,
    THERMOSTAT,
    bare,
    module_in,
    right_body,
)

KEY, TOKEN, ACCESS, NARROW, OTHER = "the-key", "aaaa.bbbb.cccc", "aaaa.bbbb.aaaa", "aaaa.bbbb.dddd", "aaaa.bbbb.eeee"
TOKENS = (TOKEN, ACCESS, NARROW, OTHER)
CLIENT, SECRET, REFRESH = "app", "app-secret", "refresh-1"


@dataclass
class Ask:
    """A request as the mock sees it. `operation` is None for a wrong URL."""

    method: str
    path: str
    key: str
    token: str
    content_type: str | None
    body: bytes
    operation: Operation | None = None
    ids: dict[str, str] = field(default_factory=dict)


class Reply(NamedTuple):
    """An answer of the mock. `body` is sent as JSON, or as it is if it is bytes."""

    status: int
    body: Any = None
    content_type: str = "application/json"
    lost: int | None = None
    """The number of bytes at the end that are not sent before the connection is closed. With 0, nothing at all is sent."""


Change = Callable[[Ask, Reply], Reply]
MODULES = {
    "E1": AMBIENT,
    "E2": REMOTE,
    "E4": PLUG,
    "E5": SCENE,
    "E8": LIGHT,
    "E11": LOCK,
    "E12": THERMOSTAT,
    "E13": THERMOSTAT,
    "E15": CAMERA,
}
"""The module or the ambient that each operation is about."""
_ROUTES = [
    (operation, re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", f"/{re.escape(operation.path)}")))
    for operation in OPERATIONS
]
_UUID, _HEX = re.compile("[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}"), re.compile("[0-9a-f]{32}")


def refusal(operation: Operation, status: int) -> Reply:
    """The answer to a request that the contract refuses."""
    if operation.shape == "A":
        return Reply(status, {"errors": [{"userMessage": "no", "internalMessage": "no", "code": status}]})
    return Reply(status, {"statusCode": status, "message": "no"})


class MockFamilies:
    """Answers as the contract says, and then lets `change` alter the answer."""

    def __init__(self, change: Change) -> None:
        self._change = change
        self._plug_is_on = True

    def answer(self, ask: Ask) -> Reply:
        if ask.path == "/auth/token":
            return self._change(ask, self._refresh(ask))
        for operation, pattern in _ROUTES:
            if operation.method == ask.method and (match := pattern.fullmatch(ask.path)):
                ask.operation, ask.ids = operation, match.groupdict()
        reply = self._change(ask, self._judge(ask))
        if ask.operation is not None and ask.operation.name == "E1" and reply.status == 200 and reply.body != "ignored":
            self._plug_is_on = b"on" in ask.body
        return reply

    def _judge(self, ask: Ask) -> Reply:
        operation = ask.operation
        if operation is None:
            return Reply(404)
        if ask.key != KEY or ask.token not in TOKENS:
            return refusal(operation, 401)
        if ask.token == (TOKEN if operation.needs_access_token else ACCESS) and operation.family != "emergency-lighting":
            return refusal(operation, 401)
        if ask.token == NARROW and operation.scope:
            return refusal(operation, 401)
        form = _HEX if operation.needs_access_token else _UUID
        if any(name != "reference" and not form.fullmatch(value) for name, value in ask.ids.items()):
            return refusal(operation, 400 if 400 in operation.statuses else 404)
        if plant := ask.ids.get("plant"):
            if bare(plant) not in (bare(PLANT), bare(SECOND)):
                return refusal(operation, 404 if 404 in operation.statuses else 400)
            if ask.token == OTHER:
                return refusal(operation, 403 if 403 in operation.statuses else 401)
        below = ask.ids.get("module") or ask.ids.get("ambient")
        if below and bare(below) != bare(module_in(ask.ids["plant"], MODULES[operation.name])):
            return refusal(operation, 404)
        if operation.method == "POST" and (refused := self._judge_body(operation, ask)):
            return refused
        body = right_body(operation.name, ask.ids.get("plant", PLANT))
        if ask.token == OTHER and operation.name == "E14":
            return Reply(204)
        if ask.token == OTHER and operation.name in ("E6", "E10"):
            plants = body["plants"] if isinstance(body, dict) else body
            plants[0]["id"] = FOREIGN
        if operation.name == "E16":
            body["plugs"][0]["status"] = [self._plug_is_on]
        return Reply(200, body)

    def _judge_body(self, operation: Operation, ask: Ask) -> Reply | None:
        try:
            sent = json.loads(ask.body)
        except ValueError:
            return refusal(operation, 400)
        right = {"E1": ("on", "off"), "E5": ("run",)}.get(operation.name)
        if right is None:
            return None
        if not isinstance(sent, dict):
            return refusal(operation, 400)
        if sent.get("status") in right:
            return None
        return refusal(operation, 442 if operation.name == "E5" and isinstance(sent.get("status"), str) else 400)

    def _refresh(self, ask: Ask) -> Reply:
        form = {name: values[0] for name, values in parse_qs(ask.body.decode()).items()}
        if form.get("refresh_token") != REFRESH or form.get("client_secret") != SECRET:
            return Reply(400, {"error": "invalid_grant"})
        return Reply(200, {"access_token": "new", "refresh_token": "refresh-2"})


@contextmanager
def mock_gateway(change: Change = lambda _ask, reply: reply) -> Iterator[str]:
    """Serve the mock on a free port of this machine; yield its address."""
    families = MockFamilies(change)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet

        def do_GET(self) -> None:
            self._reply()

        def do_POST(self) -> None:
            self._reply()

        def _reply(self) -> None:
            sent = self.rfile.read(int(self.headers.get("content-length") or 0))
            token = (self.headers.get("authorization") or "").removeprefix("Bearer ")
            key, kind = self.headers.get("ocp-apim-subscription-key") or "", self.headers.get("content-type")
            reply = families.answer(Ask(self.command, self.path, key, token, kind, sent))
            content = b"" if reply.body is None else reply.body
            content = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.close_connection |= reply.lost is not None
            if reply.lost == 0:
                return
            self.send_response(reply.status)
            if reply.content_type:
                self.send_header("content-type", reply.content_type)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            if reply.status != 204:
                self.wfile.write(content[: len(content) - (reply.lost or 0)])

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
