"""The rules about keys, tokens, scopes and rights (Spec 5)."""

import base64
from typing import NamedTuple

from domogate.conformance.exchange import Credentials, Exchange
from domogate.conformance.operations import E6, E10, E14, OPERATIONS, Operation
from domogate.conformance.rules import Rule
from domogate.conformance.session import Session
from domogate.conformance.subjects import Ids, Subjects

KEY_NEEDED = Rule("5.1", "Every operation requires the header Ocp-Apim-Subscription-Key carrying the subscription key.")
TOKEN_NEEDED = Rule("5.2", "Every operation requires the header Authorization carrying a token.")
TOKEN_VALID = Rule("5.4.invalid", "A token that is invalid yields 401.")
SCOPE_NEEDED = Rule("5.4.scope", "A token that lacks a required scope yields 401.")
RIGHTS_NEEDED = Rule("5.4.rights", "A user without rights on the plant yields 403 where the operation lists 403.")
OWNER_ONLY = Rule("7.401", "401: the user does not own the plant (operations that do not list 403).")
OWN_PLANTS = Rule("4.plants", "The lists of plants show plants of the user: a plant in a list can be read.")

_UNKNOWN_KEY = "00000000000000000000000000000000"


class Others(NamedTuple):
    """Tokens that give fewer rights than the token of the run. A token that the caller of the tool did not give is None."""

    user: Credentials | None = None
    """A token of another user."""
    access: Credentials | None = None
    """An access token of another user, for home control."""
    narrow: Credentials | None = None
    """A token of the same user without any scope of the families."""
    narrow_access: Credentials | None = None


def check_access(session: Session, subjects: Subjects, families: tuple[str, ...], others: Others, *, write: bool) -> None:
    """Check that each operation refuses a missing key, a missing or changed token, too few scopes, and other users."""
    for operation in OPERATIONS:
        if operation.family not in families or (operation.method == "POST" and not write):
            continue
        if ids := subjects.ids_for(operation)[:1]:
            _check_credentials(session, operation, ids[0])
            _check_scope(session, operation, ids[0], others)
    shared = _plants_of(session, families, others.user) if others.user is not None else set()
    foreign = [plant for plant in subjects.plants if plant not in shared]
    for operation in OPERATIONS:
        if operation.family in families and "{plant}" in operation.path and (operation.method == "GET" or write):
            _check_rights(session, operation, subjects, foreign, others)


def _check_credentials(session: Session, operation: Operation, ids: Ids) -> None:
    own = session.credentials_for(operation)

    def send(credentials: Credentials) -> Exchange:
        return _send(session, operation, ids, credentials)

    for key, name in (("", ""), (_UNKNOWN_KEY, "UNKNOWN_KEY")):
        exchange = send(own._replace(key=key, key_name=name))
        about = "without a key" if not key else "with an unknown key"
        session.check(KEY_NEEDED, operation, exchange, 400 <= exchange.status < 500, f"{about} the status is {exchange.status}")
    # E1 to E4 do not list 401, so 403 is right there too.
    refused = (401, 403) if 401 not in operation.statuses else (401,)
    exchange = send(own._replace(token=""))
    detail = f"without a token the status is {exchange.status}"
    session.check(TOKEN_NEEDED, operation, exchange, exchange.status in refused, detail)
    for token, name in (("not-a-token", "NOT_A_TOKEN"), (_changed(own.token), "CHANGED_TOKEN")):
        exchange = send(own._replace(token=token, token_name=name))
        detail = f"with {name} the status is {exchange.status}"
        session.check(TOKEN_VALID, operation, exchange, exchange.status in refused, detail)


def _changed(token: str) -> str:
    """Return the token with another last byte of the signature. A text that is not a JWT gets one more letter."""
    head, dot, signature = token.rpartition(".")
    if not dot:
        return f"{token}x"
    raw = bytearray(base64.urlsafe_b64decode(signature + "=" * (-len(signature) % 4)))
    if not raw:
        return f"{token}x"
    raw[-1] ^= 1
    return f"{head}.{base64.urlsafe_b64encode(bytes(raw)).rstrip(b'=').decode()}"


def _check_scope(session: Session, operation: Operation, ids: Ids, others: Others) -> None:
    narrow = others.narrow_access if operation.needs_access_token else others.narrow
    if not operation.scope:
        return
    if narrow is None:
        session.skip(SCOPE_NEEDED, operation, "no token without scopes was given (--narrow-token, --narrow-access-token)")
        return
    refused = (401, 403) if 401 not in operation.statuses else (401,)
    exchange = _send(session, operation, ids, narrow)
    detail = f"without the scope {operation.scope} the status is {exchange.status}"
    session.check(SCOPE_NEEDED, operation, exchange, exchange.status in refused, detail)


def _plants_of(session: Session, families: tuple[str, ...], user: Credentials) -> set[str]:
    """Call the operations that list plants, as the user with these credentials. Return the ids of the listed plants."""
    found: set[str] = set()
    for operation in (E6, E10, E14):
        if operation.family in families:
            body = session.read(session.ask(operation, credentials=user))
            items = body.get("plants") if isinstance(body, dict) else body
            found |= {item["id"] for item in items or [] if isinstance(item, dict) and isinstance(item.get("id"), str)}
    return found


def _check_rights(session: Session, operation: Operation, subjects: Subjects, foreign: list[str], others: Others) -> None:
    by = others.access if operation.needs_access_token else others.user
    rule = RIGHTS_NEEDED if 403 in operation.statuses else OWNER_ONLY
    if by is None:
        session.skip(rule, operation, "no token of another user was given (--other-token, --other-access-token)")
        return
    plain = {plant.replace("-", "") for plant in foreign}
    ids = [one for one in subjects.ids_for(operation) if one["plant"].replace("-", "") in plain]
    if "sites/" in operation.path:
        ids = subjects.ids_for(operation)
    if not subjects.ids_for(operation):
        session.skip(rule, operation, subjects.missing_for(operation))
        return
    if not ids:
        session.skip(rule, operation, "the other user may use all plants of the user that are suitable")
        return
    exchange = _send(session, operation, ids[0], by)
    right = (403,) if 403 in operation.statuses else tuple(operation.statuses & {400, 401, 404})
    detail = f"for another user the status is {exchange.status}"
    session.check(rule, operation, exchange, exchange.status in right, detail)


def _send(session: Session, operation: Operation, ids: Ids, credentials: Credentials) -> Exchange:
    """Send a request that must be refused. Only its status is judged, because a key may be refused in any form."""
    body = session.right_body(operation)
    return session.send(operation.method, operation.fill(ids), credentials, body)
