"""The rules about wrong paths, ids and bodies (Spec 4 and 7)."""

from collections.abc import Callable, Iterator

from domogate.conformance.operations import E1, E5, E18, FAMILIES, OPERATIONS, Operation
from domogate.conformance.rules import Rule
from domogate.conformance.session import Session
from domogate.conformance.subjects import KINDS, Ids, Subjects, without_dashes

UNKNOWN_PLANT = Rule("7.404.plant", "404: plant does not exist.")
UNKNOWN_RESOURCE = Rule("7.404.resource", "404: plant or resource not found.")
WRONG_URL = Rule("7.404.url", "404: wrong URL.")
WRONG_PARAMETER = Rule("7.400", "400: wrong request parameters, body or headers.")
WRONG_VALUE = Rule("7.442", "442: unexpected parameter value or out of range.")

NOWHERE = "00000000-0000-4000-8000-00000000dead"
_MALFORMED = "not-an-id"
_WRONG_VALUE = "a status that does not exist"
_WRONG_BODIES = {
    _WRONG_VALUE: b'{"status": "sideways"}',
    "no status": b"{}",
    "a number as status": b'{"status": 7}',
    "text that is not JSON": b'{"status": ',
    "a list instead of an object": b"[]",
    "no body": b"",
}
_NAMES = ("plant", "module", "ambient")
_MISSPELLED: dict[str, Callable[[str], str]] = {
    "without its last character": lambda identity: identity[:-1],
    "with one more character": lambda identity: f"{identity}0",
}


def check_refusals(session: Session, subjects: Subjects, families: tuple[str, ...], *, write: bool) -> None:
    """Send requests with wrong paths, ids and bodies, and check that they are refused as the contract says.

    If `write` is false, operations that change something are not called.
    """
    for family in FAMILIES:
        if family in families:
            path = next(one.path for one in OPERATIONS if one.family == family).split("/")
            wrong = "/".join([*path[: 3 if family == "homectl" else 2 if "v" in path[1] else 1], "no-such-resource"])
            operation = next(one for one in OPERATIONS if one.family == family)
            exchange = session.send(family, "GET", wrong, session.credentials_for(operation))
            session.check(WRONG_URL, family, exchange, exchange.status == 404, f"the status is {exchange.status}")
    for operation in OPERATIONS:
        if operation.family in families and (operation.method == "GET" or write):
            _check_ids(session, operation, subjects)
    if write:
        _check_bodies(session, subjects, families)


def _check_ids(session: Session, operation: Operation, subjects: Subjects) -> None:
    if "{plant}" not in operation.path:
        return
    known = next(iter(subjects.ids_for(operation)), None)
    if operation is not E18:
        ids = dict.fromkeys(_NAMES, _unknown(operation))
        _expect(session, UNKNOWN_PLANT, operation, ids, {404}, "a plant that does not exist")
    _expect(session, WRONG_PARAMETER, operation, dict.fromkeys(_NAMES, _MALFORMED), {400, 404}, f"the id {_MALFORMED!r}")
    below = next((name for name in ("module", "ambient") if f"{{{name}}}" in operation.path), None)
    if known is None:
        rule = WRONG_PARAMETER if below is None else UNKNOWN_RESOURCE
        session.skip(rule, operation, subjects.missing_for(operation))
        return
    for name in known:
        for about, spell in _MISSPELLED.items():
            wrong = {**known, name: spell(known[name])}
            _expect(session, WRONG_PARAMETER, operation, wrong, {400, 404}, f"the id of the {name} {about}")
    if below is not None:
        ids = {**known, below: _unknown(operation)}
        _expect(session, UNKNOWN_RESOURCE, operation, ids, {404}, f"the id of a {below} that does not exist")
    for about, ids in _strangers(operation, subjects, known):
        _expect(session, UNKNOWN_RESOURCE, operation, ids, {404}, about)


def _expect(session: Session, rule: Rule, operation: Operation, ids: Ids, right: set[int], about: str) -> None:
    """Send a request with these ids. Check that the status of the answer is in `right`, and that the specification lists it for
    the operation.
    """
    exchange = session.ask(operation, ids)
    holds = exchange.status in right & operation.statuses
    session.check(rule, operation, exchange, holds, f"for {about} the status is {exchange.status}")


def _strangers(operation: Operation, subjects: Subjects, known: Ids) -> Iterator[tuple[str, Ids]]:
    """Yield ids for wrong requests: the module exists, but it has the wrong kind for the operation, or it is in another plant.

    Each result is a text that says what is wrong, and the ids.
    """
    kind = KINDS.get(operation.name)
    spell = without_dashes if operation.needs_access_token else str
    plain = without_dashes(known["plant"])
    if kind is None:
        return
    for other, modules in subjects.modules.items():
        in_plant = [one for one in modules if without_dashes(one["plant"]) == plain]
        if other != kind and in_plant and (operation.needs_access_token or "-" in in_plant[0]["module"]):
            yield f"the id of a {other}", {**known, "module": spell(in_plant[0]["module"])}
            break
    if elsewhere := [one for one in subjects.modules[kind] if one["plant"] != known["plant"]]:
        yield f"a {kind} of another plant", {**known, "module": elsewhere[0]["module"]}


def _unknown(operation: Operation) -> str:
    return NOWHERE.replace("-", "") if operation.needs_access_token else NOWHERE


def _check_bodies(session: Session, subjects: Subjects, families: tuple[str, ...]) -> None:
    for operation in (E1, E5):
        ids = next(iter(subjects.ids_for(operation)), None)
        if operation.family not in families or ids is None:
            continue
        for about, body in _WRONG_BODIES.items():
            _check_body(session, operation, ids, about, body)


def _check_body(session: Session, operation: Operation, ids: Ids, about: str, body: bytes) -> None:
    is_value = about == _WRONG_VALUE and 442 in operation.statuses
    # The specification lists 442 beside 400 for E5: an unexpected value is 442, and a body that cannot be read is 400.
    right = {442} if is_value else operation.statuses & ({400, 442} if body.startswith(b'{"status": 7') else {400})
    exchange = session.ask(operation, ids, body=body)
    rule = WRONG_VALUE if is_value else WRONG_PARAMETER
    session.check(rule, operation, exchange, exchange.status in right, f"for {about} the status is {exchange.status}")
