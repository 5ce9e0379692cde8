"""The rules about wrong paths, ids and bodies (Spec 4 and 7)."""

import json

from domogate.conformance.operations import E1, E5, E18, FAMILIES, OPERATIONS, Operation
from domogate.conformance.rules import Rule
from domogate.conformance.session import Session
from domogate.conformance.subjects import Ids, Subjects

UNKNOWN_PLANT = Rule("7.404.plant", "404: plant does not exist.")
UNKNOWN_RESOURCE = Rule("7.404.resource", "404: plant or resource not found.")
WRONG_URL = Rule("7.404.url", "404: wrong URL.")
WRONG_PARAMETER = Rule("7.400", "400: wrong request parameters, body or headers.")
WRONG_VALUE = Rule("7.442", "442: unexpected parameter value or out of range.")

NOWHERE = "00000000-0000-4000-8000-00000000dead"
_MALFORMED = "not-an-id"


def check_refusals(session: Session, subjects: Subjects, families: tuple[str, ...], *, write: bool) -> None:
    """Check the answers to requests that the contract refuses."""
    for family in FAMILIES:
        if family in families:
            path = next(one.path for one in OPERATIONS if one.family == family).split("/")
            wrong = "/".join([*path[: 3 if family == "homectl" else 2 if "v" in path[1] else 1], "no-such-resource"])
            operation = next(one for one in OPERATIONS if one.family == family)
            exchange = session.send("GET", wrong, session.credentials_for(operation))
            session.check(WRONG_URL, family, exchange, exchange.status == 404, f"the status is {exchange.status}")
    for operation in OPERATIONS:
        if operation.family in families and (operation.method == "GET" or write):
            _check_ids(session, operation, subjects)
    if write:
        _check_bodies(session, subjects, families)


def _check_ids(session: Session, operation: Operation, subjects: Subjects) -> None:
    known = next(iter(subjects.ids_for(operation)), None)
    if "{plant}" in operation.path and operation is not E18:
        ids = {name: _unknown(operation) for name in ("plant", "module", "ambient")}
        exchange = session.ask(operation, ids)
        session.check(UNKNOWN_PLANT, operation, exchange, exchange.status == 404, f"the status is {exchange.status}")
    for name in ("module", "ambient"):
        if f"{{{name}}}" in operation.path:
            if known is None:
                session.skip(UNKNOWN_RESOURCE, operation, subjects.missing_for(operation))
                continue
            exchange = session.ask(operation, {**known, name: _unknown(operation)})
            session.check(UNKNOWN_RESOURCE, operation, exchange, exchange.status == 404, f"the status is {exchange.status}")
    if "{plant}" in operation.path:
        exchange = session.ask(operation, dict.fromkeys(("plant", "module", "ambient"), _MALFORMED))
        right = operation.statuses & {400, 404}
        detail = f"for the id {_MALFORMED!r} the status is {exchange.status}"
        session.check(WRONG_PARAMETER, operation, exchange, exchange.status in right, detail)


def _unknown(operation: Operation) -> str:
    return NOWHERE.replace("-", "") if operation.needs_access_token else NOWHERE


def _check_bodies(session: Session, subjects: Subjects, families: tuple[str, ...]) -> None:
    wrong = {"a status that does not exist": {"status": "sideways"}, "no status": {}, "a number as status": {"status": 7}}
    for operation in (E1, E5):
        ids = next(iter(subjects.ids_for(operation)), None)
        if operation.family not in families or ids is None:
            continue
        for about, sent in wrong.items():
            _check_body(session, operation, ids, about, json.dumps(sent).encode())
        _check_body(session, operation, ids, "text that is not JSON", b'{"status": ')


def _check_body(session: Session, operation: Operation, ids: Ids, about: str, body: bytes) -> None:
    is_value = about == "a status that does not exist" and 442 in operation.statuses
    # The specification lists 442 beside 400 for E5: an unexpected value is 442, and a body that cannot be read is 400.
    right = {442} if is_value else operation.statuses & ({400, 442} if about != "text that is not JSON" else {400})
    exchange = session.ask(operation, ids, body=body)
    rule = WRONG_VALUE if is_value else WRONG_PARAMETER
    session.check(rule, operation, exchange, exchange.status in right, f"for {about} the status is {exchange.status}")
