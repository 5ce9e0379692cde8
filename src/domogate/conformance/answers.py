"""The rule that an answer is about the plant and the module in the path."""

from typing import Any

from domogate.conformance.operations import E2, E3, E7, E8, E9, E11, E12, E13, E15, Operation
from domogate.conformance.rules import Rule
from domogate.conformance.session import Session
from domogate.conformance.subjects import Subjects, is_id

ABOUT_ASKED = Rule("4.path", "The path parameters name the plant and the module: the answer is about them.")

_ARRAYS = {
    "E2": "remotes",
    "E8": "lights",
    "E11": "locks",
    "E12": "chronothermostats",
    "E13": "chronothermostats",
    "E15": "audiovideounits",
}


def check_answers(session: Session, subjects: Subjects, families: tuple[str, ...]) -> None:
    """Send each operation whose answers have ids of a plant or module. Compare these ids with the ids in the path."""
    for operation in (E2, E3, E7, E8, E9, E11, E12, E13, E15):
        ids = next(iter(subjects.ids_for(operation)), None)
        if operation.family not in families or ids is None:
            continue
        exchange = session.ask(operation, ids)
        body = session.read(exchange)
        for name, found in _ids_in(operation, body):
            if name in ids and is_id(found):  # A wrong form is a finding of another rule.
                same = found.lower() == ids[name].lower()
                session.check(
                    ABOUT_ASKED, operation, exchange, same, f"the {name} in the answer is {found!r}, not {ids[name]!r}"
                )


def _ids_in(operation: Operation, body: Any) -> list[tuple[str, Any]]:
    """Return the ids of the plant and the module in the body. An id that is missing in the body is None."""
    if not isinstance(body, dict):
        return []
    if operation.name not in _ARRAYS:
        return [("plant", _at(body, "plant", "id"))]
    items = body.get(_ARRAYS[operation.name])
    found = []
    for item in items if isinstance(items, list) else []:
        found.append(("plant", _at(item, "sender", "plant", "id")))
        found.append(("module", _at(item, "sender", "plant", "module", "id")))
    return found


def _at(part: Any, *names: str) -> Any:
    for name in names:
        part = part.get(name) if isinstance(part, dict) else None
    return part
