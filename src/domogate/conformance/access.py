"""The rules about keys, tokens, scopes and rights (Spec 5)."""

from typing import NamedTuple

from domogate.conformance.exchange import Credentials, Exchange
from domogate.conformance.operations import E6, E10, E14, E17, LISTS, OPERATIONS, Operation
from domogate.conformance.rules import Rule
from domogate.conformance.session import Session
from domogate.conformance.subjects import Ids, Subjects, objects_in, uuids_of

KEY_NEEDED = Rule("5.1", "Every operation requires the header Ocp-Apim-Subscription-Key carrying the subscription key.")
TOKEN_NEEDED = Rule("5.2", "Every operation requires the header Authorization carrying a token.")
TOKEN_VALID = Rule("5.4.invalid", "A token that is invalid yields 401.")
SCOPE_NEEDED = Rule("5.4.scope", "A token that lacks a required scope yields 401.")
RIGHTS_NEEDED = Rule("5.4.rights", "A user without rights on the plant yields 403 where the operation lists 403.")
OWNER_ONLY = Rule("7.401", "401: the user does not own the plant (operations that do not list 403).")
KIND_NEEDED = Rule(
    "5.2.kind",
    "Home control wants an OAuth 2.0 access token. Home automation, door entry A and B, thermostat, touch panel, multisocket "
    "and echo want an OpenID Connect id token.",
)

_UNKNOWN_KEY = "00000000000000000000000000000000"


class Others(NamedTuple):
    """Tokens that only the checks of scopes and rights use: tokens of another user, and tokens without scopes.

    A field is None if the caller of `domogate conformance` gave no such token.
    """

    user: Credentials | None = None
    """An id token of the other user, for all families except home control."""
    access: Credentials | None = None
    """An access token of the other user, for home control."""
    narrow: Credentials | None = None
    """An id token without any scope of the families. It belongs to the user whose tokens the other checks use."""
    narrow_access: Credentials | None = None
    """An access token without any scope of the families, for home control. It belongs to the same user as `narrow`."""


def check_access(session: Session, subjects: Subjects, families: tuple[str, ...], others: Others, *, write: bool) -> None:
    """Check that each operation refuses requests without the needed rights.

    In such a request, the key is missing or unknown. Or the token is missing, is wrong, or has too few scopes. Or the user has
    no rights on the plant.

    If `write` is false, the operations that change something are not checked.
    """
    for operation in OPERATIONS:
        if operation.family not in families or (operation.method == "POST" and not write):
            continue
        if ids := subjects.ids_for(operation)[:1]:
            _check_credentials(session, operation, ids[0])
            _check_kind(session, operation, ids[0])
            _check_scope(session, operation, ids[0], others)
    shared = _plants_of(session, families, others.user) if others.user is not None else set()
    foreign = [plant for plant in subjects.plants if plant not in shared]
    for operation in OPERATIONS:
        if operation.family in families and "{plant}" in operation.path and (operation.method == "GET" or write):
            _check_rights(session, operation, subjects, foreign, others)


def _check_credentials(session: Session, operation: Operation, ids: Ids) -> None:
    own = session.credentials_for(operation)
    for key, name in (("", ""), (_UNKNOWN_KEY, "UNKNOWN_KEY")):
        exchange = _send_key(session, operation, ids, own._replace(key=key, key_name=name))
        about = "without a key" if not key else "with an unknown key"
        session.check(KEY_NEEDED, operation, exchange, 400 <= exchange.status < 500, f"{about} the status is {exchange.status}")
    exchange = session.ask(operation, ids, credentials=own._replace(token=""))
    _expect_refusal(session, TOKEN_NEEDED, operation, exchange, "without a token")
    for token, name in (("not-a-token", "NOT_A_TOKEN"), (_changed(own.token), "CHANGED_TOKEN")):
        exchange = session.ask(operation, ids, credentials=own._replace(token=token, token_name=name))
        _expect_refusal(session, TOKEN_VALID, operation, exchange, f"with {name}")


def _expect_refusal(session: Session, rule: Rule, operation: Operation, exchange: Exchange, about: str) -> None:
    """Check that the token was refused with 401. For E1 to E4 and E20, 403 is right too, because the specification does not
    list 401 for them.
    """
    refused = (401, 403) if 401 not in operation.statuses else (401,)
    session.check(rule, operation, exchange, exchange.status in refused, f"{about} the status is {exchange.status}")


def _check_kind(session: Session, operation: Operation, ids: Ids) -> None:
    """Check that the operation refuses a token of the kind that its family does not want.

    Emergency lighting accepts both kinds, so it is not checked.
    """
    own, other = session.credentials_for(operation), session.credentials_of_other_kind(operation)
    if operation.family == E17.family:
        return
    if other.token == own.token:
        session.skip(KIND_NEEDED, operation, "tokens of both kinds are needed (--token, --access-token)")
        return
    exchange = session.ask(operation, ids, credentials=other)
    _expect_refusal(session, KIND_NEEDED, operation, exchange, "with a token of the other kind")


def _changed(token: str) -> str:
    """Change the first character after the last dot of the token, and return the new token.

    In a JWT, this is the first character of the signature. The last characters of a signature can have bits without a meaning,
    so they are not changed. A token without a character after its last dot, or without a dot, gets one more letter.
    """
    head, dot, signature = token.rpartition(".")
    if not dot or not signature:
        return f"{token}x"
    return f"{head}.{'B' if signature[0] == 'A' else 'A'}{signature[1:]}"


def _check_scope(session: Session, operation: Operation, ids: Ids, others: Others) -> None:
    narrow = others.narrow_access if operation.needs_access_token else others.narrow
    if not operation.scope:
        return
    if narrow is None:
        session.skip(SCOPE_NEEDED, operation, "no token without scopes was given (--narrow-token, --narrow-access-token)")
        return
    exchange = session.ask(operation, ids, credentials=narrow)
    _expect_refusal(session, SCOPE_NEEDED, operation, exchange, f"without the scope {operation.scope}")


def _plants_of(session: Session, families: tuple[str, ...], user: Credentials) -> set[str]:
    """Call the operations that list plants, as the user with these credentials. Return the ids of the listed plants."""
    found: set[str] = set()
    for operation in (E6, E10, E14):
        if operation.family in families:
            body = session.read(session.ask(operation, credentials=user))
            found.update(uuids_of(objects_in(body, LISTS[operation.name])))
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
    exchange = session.ask(operation, ids[0], credentials=by)
    right = 403 if 403 in operation.statuses else 401
    detail = f"for another user the status is {exchange.status}"
    session.check(rule, operation, exchange, exchange.status == right, detail)


def _send_key(session: Session, operation: Operation, ids: Ids, credentials: Credentials) -> Exchange:
    """Send a request with these credentials, which have no key or an unknown key.

    The caller judges only the status of the answer: the answer to such a request may have any body.
    """
    body = session.right_body(operation)
    return session.send(operation, operation.method, operation.fill(ids), credentials, body)
