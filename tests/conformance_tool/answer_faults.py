"""Faults of answers to right requests: statuses, empty lists, headers, bodies that are not JSON, connections that break."""

from collections.abc import Callable, Iterable
from typing import Any

from conformance_tool.planted_faults import Build, Fault, is_good, refuse_with
from domogate.conformance.operations import LISTS, OPERATIONS, Operation
from support.mock_families import Ask, Reply

_ANOTHER = "99999999-9999-4999-8999-999999999999"
# Operations whose answers contain ids for other operations. E18 needs the answer of E17, and E19 needs the answer of E18.
_FINDERS = ("E3", "E6", "E7", "E9", "E10", "E14", "E18")
_READING = [one for one in OPERATIONS if one.method == "GET"]


def _in_turn(make: Callable[[Operation], Iterable[Fault]], operations: list[Operation] = _READING) -> list[list[Fault]]:
    """Make faults of good answers of these operations, in three groups: a wrong answer of a group hides no other answer."""
    groups: list[list[Fault]] = [[], [], []]
    for operation in operations:
        at = 1 if operation.name in _FINDERS else 2 if operation.name == "E17" else 0
        groups[at] += make(operation)
    return groups


def _reply(rule: str, operation: Operation, says: str, **fields: Any) -> Fault:
    """Change these fields of each right answer."""
    return Fault(rule, operation.name, says, is_good, lambda _ask, reply: reply._replace(**fields))


def _unlisted(operation: Operation) -> Iterable[Fault]:
    yield Fault(f"4.{operation.name}.statuses", operation.name, "the status is 418", is_good, refuse_with(418))


def _unsuccessful(operation: Operation) -> Iterable[Fault]:
    yield Fault("7.200", operation.name, "the status is 401", is_good, refuse_with(401))


def _with_body_204(operation: Operation) -> Iterable[Fault]:
    if 204 in operation.statuses:
        yield _reply("7.204", operation, "the body has 2 bytes", status=204, body={})


def _empty(operation: Operation) -> Iterable[Fault]:
    if operation.name in LISTS:
        field = LISTS[operation.name]
        rule = "7.404.plug" if operation.name == "E16" else "7.204.empty"
        yield _reply(rule, operation, "the list is empty", body={field: []} if field else [])


def _not_json(content: bytes) -> Callable[[Operation], Iterable[Fault]]:
    return lambda one: [_reply("0.json", one, "the body cannot be read", body=content)]


def _lost(operation: Operation) -> Iterable[Fault]:
    lost = 0 if operation.name in ("E2", "E8", "E16") else 1  # nothing is sent, or one byte is missing
    if operation.name in ("E2", "E4", "E8", "E12", "E16", "E19"):
        yield _reply("1", operation, "no complete answer", lost=lost)


def _wrong_types() -> Iterable[Fault]:
    """Another content type of each answer, and none at all of each refusal."""
    for one in OPERATIONS:
        if one.body is not None:
            yield _reply("0.json", one, "the content type is 'text/html'", content_type="text/html")
        if one.shape:
            yield Fault("0.json", one.name, "the content type is ''", _is_refusal, _without_type)


def _unreadable_refusals() -> Iterable[Fault]:
    for one in OPERATIONS:
        if one.shape:
            yield Fault("0.json", one.name, "the body cannot be read", _is_refusal, _as_html)


def _is_refusal(ask: Ask, reply: Reply) -> bool:
    return ask.operation is not None and reply.status >= 400 and reply.status in ask.operation.statuses


def _without_type(_ask: Ask, reply: Reply) -> Reply:
    return reply._replace(content_type="")


def _as_html(_ask: Ask, reply: Reply) -> Reply:
    return reply._replace(body=b"<html>")


def _about_another() -> Iterable[Fault]:
    """Each answer that names a plant or a module names another one."""
    places: dict[str, tuple[str | int, ...]] = {
        **dict.fromkeys(("E3", "E7", "E9"), ("plant",)),
        "E2": ("remotes", 0, "sender", "plant", "module"),
        "E8": ("lights", 0, "sender", "plant", "module"),
        "E11": ("locks", 0, "sender", "plant"),
        "E12": ("chronothermostats", 0, "sender", "plant", "module"),
        "E13": ("chronothermostats", 0, "sender", "plant"),
        "E15": ("audiovideounits", 0, "sender", "plant"),
    }
    for name, place in places.items():
        yield Fault("4.path", name, f"the {place[-1]} in the answer is", is_good, _put(place))


def _put(place: tuple[str | int, ...]) -> Build:
    def build(ask: Ask, reply: Reply) -> Reply:
        part = reply.body
        for step in place:
            part = part[step]
        assert ask.operation is not None
        part["id"] = _ANOTHER.replace("-", "") if ask.operation.needs_access_token else _ANOTHER
        return reply

    return build


def _refresh(rule: str, says: str, status: int, wrong: Reply) -> Fault:
    """Answer at the token endpoint with a wrong answer instead of the one with this status."""
    return Fault(rule, "token", says, lambda ask, reply: ask.path == "/auth/token" and reply.status == status, lambda *_: wrong)


def _posted(rule: str, name: str, says: str, build: Build) -> Fault:
    return Fault(rule, name, says, lambda ask, reply: is_good(ask, reply) and ask.content_type is not None, build)


def _without_content_type(name: str) -> Fault:
    def when(ask: Ask, reply: Reply) -> bool:
        return is_good(ask, reply) and ask.content_type is None

    return Fault("4.content-type", name, "the status is 400", when, refuse_with(400))


def _numbered(title: str, groups: list[list[Fault]]) -> dict[str, list[Fault]]:
    return {f"{title}, part {number}": group for number, group in enumerate(groups, 1) if group}


ANSWERS: dict[str, list[Fault]] = {
    **_numbered("unlisted statuses", _in_turn(_unlisted)),
    **_numbered("right requests are refused", _in_turn(_unsuccessful)),
    **_numbered("204 with a body", _in_turn(_with_body_204)),
    **_numbered("empty lists", _in_turn(_empty)),
    **_numbered("bodies that are not JSON", _in_turn(_not_json(b"{"))),
    **_numbered("NaN", _in_turn(_not_json(b'{"a": NaN}'))),
    **_numbered("too many levels", _in_turn(_not_json(b"[" * 100_000))),
    **_numbered("lost answers", _in_turn(_lost)),
    "content types": list(_wrong_types()),
    "refusals that are not JSON": list(_unreadable_refusals()),
    "answers about another plant or module": list(_about_another()),
    "the plant in the list does not exist": [Fault("4.E6.list", "E7", "E6 lists the plant", is_good, refuse_with(404))],
    "commands are ignored": [
        _posted("3.E1", "E1", "after o", lambda *_: Reply(200, "ignored")),
        _posted("3.E5", "E5", "the status is 404", refuse_with(404)),
        _posted("4.E20", "E20", "the status is 500", refuse_with(500)),
        _refresh("5.token.400", "the status is 401", 400, Reply(401, {})),
        _refresh("5.token.200", "a token is missing", 200, Reply(200, {"access_token": "new"})),
    ],
    "commands have unlisted statuses": [
        fault
        for name, rule in (("E1", "3.E1"), ("E5", "3.E5"))
        for fault in (
            _posted(f"4.{name}.statuses", name, "the status is 418", refuse_with(418)),
            _posted(rule, name, "the status is 418", refuse_with(418)),
        )
    ],
    "the content type is required": [
        *map(_without_content_type, ("E1", "E5", "E20")),
        _refresh("5.token.400", "the status is 200", 400, Reply(200, {"access_token": "new", "refresh_token": "new"})),
        _refresh("5.token.200", "a token is missing", 200, Reply(200, b"<html>")),
    ],
}
