"""Faults of refusals: for each rule about wrong requests, a fault of each operation that the rule is about.

A group of faults is planted in one run of the tool. The faults of a group do not hide each other.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from domogate.conformance.operations import FAMILIES, OPERATIONS, Operation
from domogate.conformance.refusals import NOWHERE
from support.mock_bodies import PLANT, SECOND, bare, module_in, right_body
from support.mock_families import ACCESS, KEY, MODULES, NARROW, OTHER, TOKEN, TOKENS, Ask, Reply, refusal

When = Callable[[Ask, Reply], bool]
Build = Callable[[Ask, Reply], Reply]


class Fault(NamedTuple):
    """A wrong answer to some requests. The tool must report the rule and the operation, with these words."""

    rule: str
    operation: str
    says: str
    when: When
    build: Build

    def change(self, ask: Ask, reply: Reply) -> Reply | None:
        """Return the wrong answer, or None if the request is not about this fault."""
        name = ask.operation.name if ask.operation is not None else ""
        is_asked = name == self.operation or not self.operation.startswith("E")
        return self.build(ask, reply) if is_asked and self.when(ask, reply) else None


def is_good(ask: Ask, reply: Reply) -> bool:
    """Whether a right request of the user gets a right answer."""
    return reply.status == 200 and ask.token in (TOKEN, ACCESS)


def _accept(ask: Ask, _reply: Reply) -> Reply:
    assert ask.operation is not None
    return Reply(200, right_body(ask.operation.name))


def refuse_with(status: int) -> Build:
    """Refuse with this status."""

    def build(ask: Ask, _reply: Reply) -> Reply:
        assert ask.operation is not None
        return Reply(204) if status == 204 else refusal(ask.operation, status)

    return build


def _other_status(operation: Operation) -> int:
    """A status that the operation lists, but that is not the status for a wrong token."""
    return next((status for status in (400, 404, 204) if status in operation.statuses), 404)


# --- keys, tokens, scopes, rights ---------------------------------------------------------------------------------------


def _credentials(operation: Operation) -> list[tuple[str, str, When]]:
    """The rule, the words of the report, and the requests, for all wrong credentials."""
    own, wrong_kind = (ACCESS, TOKEN) if operation.needs_access_token else (TOKEN, ACCESS)
    cases: list[tuple[str, str, When]] = [
        ("5.1", "without a key", lambda ask, _: not ask.key),
        ("5.1", "with an unknown key", lambda ask, _: ask.key not in ("", KEY)),
        ("5.2", "without a token", lambda ask, _: ask.key == KEY and not ask.token),
        ("5.4.invalid", "with NOT_A_TOKEN", lambda ask, _: ask.token == "not-a-token"),
        ("5.4.invalid", "with CHANGED_TOKEN", lambda ask, _: ask.token.startswith(own[:9]) and ask.token not in TOKENS),
    ]
    if operation.family != "emergency-lighting":
        cases.append(("5.2.kind", "with a token of the other kind", lambda ask, _: ask.token == wrong_kind))
    if operation.scope:
        cases.append(("5.4.scope", "without the scope", lambda ask, _: ask.token == NARROW))
    if "{plant}" in operation.path:
        rule = "5.4.rights" if 403 in operation.statuses else "7.401"
        cases.append((rule, "for another user", lambda ask, _: ask.token == OTHER))
    return cases


def _for_credentials(build: Callable[[Operation, str], Build]) -> list[Fault]:
    every = [(one, *case) for one in OPERATIONS for case in _credentials(one)]
    return [Fault(rule, one.name, says, when, build(one, rule)) for one, rule, says, when in every]


# --- ids, URLs and bodies that are refused ------------------------------------------------------------------------------


def _id_is(name: str, *wrong: str, in_plant: str = "") -> When:
    def when(ask: Ask, _reply: Reply) -> bool:
        is_plant = not in_plant or bare(ask.ids.get("plant", "")) == bare(in_plant)
        return is_plant and ask.token in (TOKEN, ACCESS) and bare(ask.ids.get(name, "")) in map(bare, wrong)

    return when


def _right_ids(operation: Operation) -> dict[str, str]:
    spell = bare if operation.needs_access_token else str
    below = spell(MODULES.get(operation.name, ""))
    return {"plant": spell(PLANT), "module": below, "ambient": below}


def _ids_of_plants(operation: Operation) -> Iterable[Fault]:
    if "{plant}" in operation.path:
        right = _right_ids(operation)["plant"]
        says = "the id of the plant with"
        yield Fault("7.400", operation.name, "for the id 'not-an-id'", _id_is("plant", "not-an-id"), _accept)
        yield Fault("7.400", operation.name, f"{says}out its last", _id_is("plant", right[:-1]), _accept)
        yield Fault("7.400", operation.name, f"{says} one more", _id_is("plant", f"{right}0"), _accept)
        if operation.name != "E18":
            yield Fault("7.404.plant", operation.name, "a plant that does not exist", _id_is("plant", NOWHERE), _accept)


def _ids_below_plants(operation: Operation) -> Iterable[Fault]:
    for name in ("module", "ambient"):
        if f"{{{name}}}" in operation.path:
            right = _right_ids(operation)[name]
            says, unknown = f"the id of the {name} with", _id_is(name, NOWHERE, in_plant=PLANT)
            yield Fault("7.400", operation.name, f"{says}out its last", _id_is(name, right[:-1]), _accept)
            yield Fault("7.400", operation.name, f"{says} one more", _id_is(name, f"{right}0"), _accept)
            yield Fault("7.404.resource", operation.name, f"a {name} that does not exist", unknown, _accept)
    if operation.name in MODULES and "{module}" in operation.path:
        own = MODULES[operation.name]
        elsewhere = _id_is("module", module_in(SECOND, own), in_plant=PLANT)
        strangers = _id_is("module", *(one for one in MODULES.values() if one != own))
        yield Fault("7.404.resource", operation.name, "the id of a ", strangers, _accept)
        yield Fault(
            "7.404.resource", operation.name, "of another plant", lambda a, r: elsewhere(a, r) and r.status == 404, _accept
        )


def _body_is(*wrong: bytes) -> When:
    return lambda ask, reply: ask.body in wrong and reply.status in (400, 442) and ask.token in (TOKEN, ACCESS)


def _ignored(_ask: Ask, _reply: Reply) -> Reply:
    return Reply(200, "ignored")


def _bodies(name: str, **cases: bytes) -> list[Fault]:
    return [Fault("7.400", name, says.replace("_", " "), _body_is(body), _ignored) for says, body in cases.items()]


def _wrong_url(family: str) -> Fault:
    def when(ask: Ask, _reply: Reply) -> bool:
        return ask.path.startswith(f"/{family}/") and ask.path.endswith("/no-such-resource")

    return Fault("7.404.url", family, "the status is 200", when, lambda _ask, _reply: Reply(200, {}))


_SIDEWAYS = b'{"status": "sideways"}'
REFUSALS: dict[str, list[Fault]] = {
    "everybody may do everything": [
        *_for_credentials(lambda _operation, _rule: _accept),
        *map(_wrong_url, FAMILIES),
        *(fault for one in OPERATIONS for fault in _ids_of_plants(one)),
    ],
    "wrong credentials get a wrong status": [
        *_for_credentials(lambda one, rule: refuse_with(500 if rule == "5.1" else _other_status(one))),
        *(fault for one in OPERATIONS for fault in _ids_below_plants(one)),
    ],
    "wrong bodies are accepted": [
        fault
        for name in ("E1", "E5")
        for fault in _bodies(name, no_status=b"{}", a_number_as_status=b'{"status": 7}', not_JSON=b'{"status": ')
    ],
    "other wrong bodies are accepted": [
        *_bodies("E1", a_list=b"[]", no_body=b"", a_status_that_does_not_exist=_SIDEWAYS),
        *_bodies("E5", a_list=b"[]", no_body=b""),
        Fault("7.442", "E5", "a status that does not exist", _body_is(_SIDEWAYS), refuse_with(400)),
    ],
}
