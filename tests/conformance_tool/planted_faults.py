"""Faults that a test plants into the mock: each breaks one rule of the contract."""

from collections.abc import Callable
from typing import Any, NamedTuple

from support.mock_families import KEY, NARROW, OTHER, TOKEN, Ask, Change, Reply, right_body

Step = str | int


class Fault(NamedTuple):
    """A change of the answers, and the rule that it breaks."""

    rule: str
    operation: str
    change: Change


def _is(ask: Ask, operation: str) -> bool:
    return ask.operation is not None and ask.operation.name == operation


def _at(body: Any, path: tuple[Step, ...]) -> Any:
    for step in path:
        body = body[step]
    return body


def put(rule: str, operation: str, *path: Step, value: Any) -> Fault:
    """Put another value into each 200 answer of the operation."""

    def change(ask: Ask, reply: Reply) -> Reply:
        if _is(ask, operation) and reply.status == 200:
            _at(reply.body, path[:-1])[path[-1]] = value
        return reply

    return Fault(rule, operation, change)


def drop(rule: str, operation: str, *path: Step) -> Fault:
    """Leave a value out of each 200 answer of the operation."""

    def change(ask: Ask, reply: Reply) -> Reply:
        if _is(ask, operation) and reply.status == 200:
            del _at(reply.body, path[:-1])[path[-1]]
        return reply

    return Fault(rule, operation, change)


def answer(rule: str, operation: str, when: Callable[[Ask, Reply], bool], status: int, body: Any = None) -> Fault:
    """Answer some requests of the operation with this status. A 200 has the right body."""

    def change(ask: Ask, reply: Reply) -> Reply:
        if not _is(ask, operation) or not when(ask, reply):
            return reply
        assert ask.operation is not None
        return Reply(status, right_body(ask.operation) if status == 200 and body is None else body)

    return Fault(rule, operation, change)


def reply(rule: str, operation: str, build: Callable[[Reply], Reply]) -> Fault:
    """Give another form to each good answer of the operation."""
    return Fault(rule, operation, lambda ask, given: build(given) if _is(ask, operation) and _good(ask, given) else given)


def refresh(rule: str, status: int, wrong: Reply) -> Fault:
    """Answer at the token endpoint with a wrong answer instead of the one with this status."""
    return Fault(rule, "token", lambda ask, given: wrong if ask.path == "/auth/token" and given.status == status else given)


def _refused(status: int) -> Callable[[Ask, Reply], bool]:
    return lambda _ask, reply: reply.status == status


def _good(ask: Ask, reply: Reply) -> bool:
    return ask.key == KEY and ask.token == TOKEN and reply.status == 200


_B = {"statusCode": 0, "message": "no"}
_A = {"errors": [{"userMessage": "no", "internalMessage": "no", "code": 1}]}
_LAMP = ("lights", 0)
_CHRONO = ("chronothermostats", 0)
_MODULE = ("plant", "floors", 0, "ambients", 0, "modules", 0)

FAULTS = (
    # bodies
    put("2.1.type", "E10", 0, "type", value="House"),
    put("2.1.name", "E10", 0, "name", value="Home!"),
    put("2.1.status", "E10", 0, "status", value="removed"),
    put("2.1.allowedUsers.email", "E10", 0, "allowedUsers", 0, "email", value=None),
    put("2.2.type", "E6", "plants", 0, "type", value="house"),
    put("2.2.name", "E6", "plants", 0, "name", value="x" * 51),
    put("2.2.zipCode", "E6", "plants", 0, "zipCode", value="I-20100"),
    put("2.2.address", "E6", "plants", 0, "address", value="x" * 501),
    put("2.3.name", "E14", "plants", 0, "name", value=7),
    put("2.4.modules.device", "E7", *_MODULE, "device", value="light"),
    put("2.4.metrics.metricType", "E7", *_MODULE, "metrics", 0, "metricType", value="number"),
    put("2.4.floors.internalId", "E7", "plant", "floors", 0, "internalId", value="floor-1"),
    put("2.5.modules.device", "E9", "plant", "modules", 1, "device", value="doorbell"),
    put("2.5.canDo.command.do", "E9", "plant", "modules", 0, "capabilities", 0, "canDo", "command", "do", value="yes"),
    put("2.6.module.device", "E3", "plant", "modules", 0, "device", value="toaster"),
    drop("2.6.ambient", "E3", "plant", "ambients", 0, "type"),
    drop("2.6", "E3", "plant", "modules"),
    put("2.7.status", "E8", *_LAMP, "status", value="dimmed"),
    put("2.7.level", "E8", *_LAMP, "level", value=101),
    put("2.7.colorHSV.H", "E8", *_LAMP, "colorHSV", "H", value=361),
    put("2.8.mode", "E12", *_CHRONO, "mode", value="eco"),
    put("2.8.setPoint.value", "E12", *_CHRONO, "setPoint", "value", value="40.5"),
    drop("2.8.setPoint.present", "E12", *_CHRONO, "setPoint"),
    drop("2.8.programs.present", "E12", *_CHRONO, "programs"),
    put("2.8.programs.number", "E12", *_CHRONO, "programs", 0, "number", value=12),
    put("2.8.time", "E12", *_CHRONO, "time", value="2026-01-01T10:00:00"),
    put("2.8.activationTime", "E12", *_CHRONO, "activationTime", value="2026-02-30T10:00:00"),
    put("2.8.hygrometer.measures.unit", "E12", *_CHRONO, "hygrometer", "measures", 0, "unit", value="percent"),
    put("2.9.programs.number", "E13", *_CHRONO, "programs", 0, "number", value="1"),
    put("2.11.lock.ticket", "E11", "locks", 0, "ticket", value="open sesame"),
    put("2.11.camera.sender.system", "E15", "audiovideounits", 0, "sender", "system", value="automation"),
    drop("2.12", "E2", "remotes", 0, "battery"),
    put("2.12.battery", "E2", "remotes", 0, "battery", value="empty"),
    put("2.12.fw", "E2", "remotes", 0, "fw", value=2**31),
    put("2.13.value", "E4", "consumptions", 0, "value", value=100_001),
    drop("4.E4.body", "E4", "consumptions"),
    put("2.14.status", "E16", "plugs", 0, "status", value="on"),
    put("2.15.site.zipCode", "E17", 0, "zipCode", value="1" * 21),
    put("2.15.failure.failureType", "E18", 0, "failures", 0, "failureType", value="BROKEN"),
    put("2.15.unit.lastStatusUpdate", "E18", 0, "children", 0, "lastStatusUpdate", value="yesterday"),
    put("2.15.spare-part.type", "E19", 0, "type", value="Lamp"),
    # statuses and the form of answers
    answer("4.E13.statuses", "E13", _good, 202, {}),
    answer("7.204", "E17", _good, 204, {"sites": []}),
    reply("0.json", "E8", lambda reply: Reply(200, reply.body, "text/html")),
    reply("0.json", "E4", lambda _reply: Reply(200, b"{")),
    answer("7.A", "E3", _refused(404), 404, _B),
    answer("7.B", "E7", _refused(404), 404, {"statusCode": 404}),
    put("4.path", "E8", *_LAMP, "sender", "plant", "module", "id", value="99999999-9999-4999-8999-999999999999"),
    # keys, tokens, rights
    answer("5.1", "E8", lambda ask, _: not ask.key, 200),
    answer("5.1", "E3", lambda ask, _: ask.key not in ("", KEY), 200),
    answer("5.2", "E12", lambda ask, _: ask.key == KEY and not ask.token, 200),
    answer("5.4.invalid", "E6", lambda ask, _: ask.key == KEY and ask.token not in ("", TOKEN, NARROW, OTHER), 200),
    answer("5.4.scope", "E11", lambda ask, _: ask.token == NARROW, 200),
    answer("5.4.rights", "E7", _refused(403), 200),
    answer("5.4.rights", "E8", _refused(403), 404, _B),
    answer("7.401", "E16", lambda ask, reply: ask.token == OTHER and reply.status == 401, 200),
    # wrong paths, ids, bodies
    answer("7.404.plant", "E9", lambda ask, reply: ask.token == TOKEN and reply.status == 404, 400, _B),
    answer("7.404.resource", "E15", lambda ask, reply: reply.status == 404 and ask.ids["plant"][0] == "1", 200),
    Fault("7.404.url", "echo", lambda ask, reply: Reply(200, {}) if ask.path == "/echo/no-such-resource" else reply),
    answer("7.400", "E7", lambda ask, reply: ask.ids["plant"] == "not-an-id", 401, _B),
    answer("7.400", "E1", lambda ask, reply: b"7" in ask.body, 200, "ignored"),
    answer("7.442", "E5", _refused(442), 400, _B),
    # changes
    answer("3.E1", "E1", _good, 200, "ignored"),
    answer("3.E5", "E5", _good, 404, _B),
    answer("4.E20", "E20", _good, 500),
    answer("4.content-type", "E20", lambda ask, _: ask.content_type is None, 415),
    # the token endpoint
    refresh("5.token.400", 400, Reply(401, {})),
    refresh("5.token.200", 200, Reply(200, {"access_token": "new"})),
)
