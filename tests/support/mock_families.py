"""A small implementation of the nine families in memory, which can break one rule of the contract at a time."""

import copy
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from domogate.conformance.operations import OPERATIONS, Operation

KEY, TOKEN, NARROW, OTHER = "the-key", "aaaa.bbbb.cccc", "aaaa.bbbb.dddd", "aaaa.bbbb.eeee"
CLIENT, SECRET, REFRESH = "app", "app-secret", "refresh-1"
PLANT, FOREIGN = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
LIGHT, SCENE, LOCK, CAMERA, THERMOSTAT, PLUG, REMOTE, AMBIENT = (f"33333333-3333-4333-8333-33333333333{n}" for n in "12345678")
REFERENCE = "LU-100"


def _bare(identity: str) -> str:
    return identity.replace("-", "")


_NAMED = {"internalId": AMBIENT, "name": "Kitchen"}
_SENDER = {"addressType": "addressLocation", "system": "thermoregulation", "plant": {"id": PLANT, "module": {"id": THERMOSTAT}}}
_MEASURE = {"timeStamp": "2026-01-01T10:00:00+01:00", "value": "20.5", "unit": "C"}


def _ticket(system: str) -> dict[str, Any]:
    return {"ticket": "a.b.c", "sender": {"addressType": "addressLocation", "system": system, "plant": {"id": PLANT}}}


def _home_control(device: str, identity: str) -> dict[str, Any]:
    return {"id": _bare(identity), "name": device, "hw_type": "x", "device": device}


def _home_automation(device: str, system: str, identity: str) -> dict[str, Any]:
    metrics = [{"label": "status", "metricType": "Text"}]
    return {"device": device, "system": system, "id": identity, **_NAMED, "deviceType": "x", "metrics": metrics}


def _can(do: bool) -> dict[str, bool]:
    return {"do": do}


_CAPABILITY = {"capability": "open", "canDo": {"command": _can(True), "request": _can(False), "notification": _can(False)}}
_FAILURE = {"flag": "0x01", "failureType": "BLOCK.FAULTY_BATTERY"}
_UNIT = {"id": LIGHT, "reference": REFERENCE, "lastStatusUpdate": "2026-01-01T10:00:00Z", "status": 1, "failures": [_FAILURE]}
_PEOPLE = {"allowedUsers": [{"id": "u2", "email": "b@example.com"}], "invitedUsers": [{"email": "c@example.com"}]}
_ADDRESS = {"country": "Italy", "zipCode": "20100", "address": "Via Roma 1"}

BODIES: dict[str, Any] = {
    "E2": {
        "remotes": [{"reachable": True, "battery": "full", "fw": 7, "sender": {"plant": {"module": {"id": _bare(REMOTE)}}}}]
    },
    "E3": {
        "plant": {
            "id": _bare(PLANT),
            "ambients": [{"id": _bare(AMBIENT), "name": "Kitchen", "type": "room", "modules": [_home_control("plug", PLUG)]}],
            "modules": [_home_control("remote", REMOTE)],
        }
    },
    "E4": {"consumptions": [{"unit": "watt", "value": 12, "timestamp": "now"}]},
    "E6": {
        "plants": [{"id": PLANT, "ownerId": "u1", "name": "Home!", "type": "House", "status": "Active", **_ADDRESS, **_PEOPLE}]
    },
    "E7": {
        "plant": {
            "id": PLANT,
            "internalId": PLANT,
            "name": "Home",
            "type": "House",
            "floors": [
                {
                    "id": AMBIENT,
                    **_NAMED,
                    "ambients": [{"id": AMBIENT, **_NAMED, "modules": [_home_automation("Light", "Lighting", LIGHT)]}],
                }
            ],
            "ambients": [],
            "modules": [_home_automation("Scene", "Scene", SCENE)],
        }
    },
    "E8": {
        "lights": [
            {
                "status": "on",
                "level": 50,
                "colorHSV": {"H": 10.5, "S": 50, "V": 50},
                "sender": {
                    "addressType": "addressLocation",
                    "system": "lighting",
                    "plant": {
                        "id": PLANT,
                        "name": "Home",
                        "type": "House",
                        "module": {"id": LIGHT, "name": "Lamp", "deviceType": "dimmer"},
                    },
                },
            }
        ]
    },
    "E9": {
        "plant": {
            "id": PLANT,
            "name": "Home",
            "modules": [
                {"device": "lock", "id": LOCK, "name": "Gate", "capabilities": [_CAPABILITY]},
                {"device": "audiovideo unit", "id": CAMERA, "name": "Door", "capabilities": []},
            ],
        }
    },
    "E10": [
        {
            "id": PLANT,
            "ownerId": "u1",
            "ownerEmail": "a@example.com",
            "name": "Home",
            "type": "house",
            "status": "active",
            **_ADDRESS,
            **_PEOPLE,
        }
    ],
    "E11": {"locks": [_ticket("automation")]},
    "E12": {
        "chronothermostats": [
            {
                "function": "heating",
                "mode": "automatic",
                "setPoint": {"value": "21.5", "unit": "C"},
                "programs": [{"number": 1}],
                "activationTime": "2026-01-01T10:00:00",
                "temperatureFormat": "C",
                "loadState": "active",
                "time": "2026-01-01T10:00:00+01:00",
                "thermometer": {"measures": [_MEASURE]},
                "hygrometer": {"measures": [{**_MEASURE, "unit": "%"}]},
                "sender": _SENDER,
            }
        ]
    },
    "E13": {"chronothermostats": [{"programs": [{"number": 1, "name": "Week"}], "sender": _SENDER}]},
    "E14": {"plants": [{"id": PLANT, "name": "Home", "type": "anything"}]},
    "E15": {"audiovideounits": [_ticket("videodoorentry")]},
    "E16": {"plugs": [{"id": PLUG, "name": "Plug", "status": [True]}]},
    "E17": [{"id": PLANT, "name": "Home", **_ADDRESS}],
    "E18": [
        {
            **_UNIT,
            "name": "Controller",
            "serialNumber": "1",
            "alert": False,
            "lastAlertUpdate": "2026-01-01T10:00:00Z",
            "alertLevel": 1,
            "children": [_UNIT],
        }
    ],
    "E19": [{"reference": "B-1", "type": "Battery", "quantity": "1"}],
    "E20": {},
}


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


@dataclass
class Reply:
    """An answer of the mock. `body` is sent as JSON, or as it is if it is bytes."""

    status: int
    body: Any = None
    content_type: str = "application/json"


Change = Callable[[Ask, Reply], Reply]
_KNOWN = {"module": {LIGHT, SCENE, LOCK, CAMERA, THERMOSTAT, PLUG, REMOTE}, "ambient": {AMBIENT}, "reference": {REFERENCE}}


def right_body(operation: Operation) -> Any:
    return copy.deepcopy(BODIES.get(operation.name))


class MockFamilies:
    """Answers as the contract says, and then lets `change` alter the answer."""

    def __init__(self, change: Change) -> None:
        self._change = change
        self._plug_is_on = True

    def answer(self, ask: Ask) -> Reply:
        if ask.path == "/auth/token":
            return self._change(ask, self._refresh(ask))
        for operation in OPERATIONS:
            pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(operation.path))
            if operation.method == ask.method and (match := re.fullmatch(f"/{pattern}", ask.path)):
                ask.operation, ask.ids = operation, match.groupdict()
        reply = self._change(ask, self._judge(ask))
        if ask.operation is not None and ask.operation.name == "E1" and reply.status == 200 and reply.body != "ignored":
            self._plug_is_on = b"on" in ask.body
        return reply

    def _judge(self, ask: Ask) -> Reply:
        operation = ask.operation
        if operation is None:
            return Reply(404)
        if ask.key != KEY or ask.token not in (TOKEN, NARROW, OTHER):
            return self._refuse(operation, 401)
        if ask.token == NARROW and operation.scope:
            return self._refuse(operation, 401)
        if plant := ask.ids.get("plant"):
            if not re.fullmatch(r"[0-9a-f-]{32,36}", plant):
                return self._refuse(operation, 400 if 400 in operation.statuses else 404)
            if _bare(plant) != _bare(PLANT):
                return self._refuse(operation, 404 if 404 in operation.statuses else 400)
            if ask.token == OTHER:
                return self._refuse(operation, 403 if 403 in operation.statuses else 401)
        for name in ("module", "ambient"):
            if name in ask.ids and _bare(ask.ids[name]) not in map(_bare, _KNOWN[name]):
                return self._refuse(operation, 404)
        if operation.method == "POST" and (refusal := self._judge_body(operation, ask)):
            return refusal
        body = right_body(operation)
        if ask.token == OTHER and operation.name in ("E6", "E10", "E14"):
            plants = body["plants"] if isinstance(body, dict) else body
            plants[0]["id"] = FOREIGN
        if operation.name == "E16":
            body["plugs"][0]["status"] = [self._plug_is_on]
        return Reply(200, body)

    def _judge_body(self, operation: Operation, ask: Ask) -> Reply | None:
        try:
            sent = json.loads(ask.body)
        except ValueError:
            return self._refuse(operation, 400)
        right = {"E1": ("on", "off"), "E5": ("run",)}.get(operation.name)
        if right is None or sent.get("status") in right:
            return None
        return self._refuse(operation, 442 if operation.name == "E5" and isinstance(sent.get("status"), str) else 400)

    def _refuse(self, operation: Operation, status: int) -> Reply:
        if operation.shape == "A":
            return Reply(status, {"errors": [{"userMessage": "no", "internalMessage": "no", "code": status}]})
        return Reply(status, {"statusCode": status, "message": "no"})

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
            self.send_response(reply.status)
            self.send_header("content-type", reply.content_type)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            if reply.status != 204:
                self.wfile.write(content)

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
