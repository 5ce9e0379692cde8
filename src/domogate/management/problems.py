"""What is refused, as problem details (RFC 9457) that tell an operator what to do, and how to get in (RFC 6750 §3)."""

from http import HTTPStatus

from domogate.domain.faults import Fault, NoSuchModule, NoSuchPlant, OrderKeyTaken, ValueOutOfRange, sentence
from domogate.domain.people import MANAGE_SCOPE
from domogate.http_api.problems import Problem
from domogate.services.refusals import Conflict, Forbidden, Invalid, MailFailed, NotFound, Refused

STATUS_OF: dict[type[Refused], HTTPStatus] = {
    NotFound: HTTPStatus.NOT_FOUND,
    Invalid: HTTPStatus.UNPROCESSABLE_ENTITY,
    Conflict: HTTPStatus.CONFLICT,
    Forbidden: HTTPStatus.FORBIDDEN,
    MailFailed: HTTPStatus.BAD_GATEWAY,
}

STATUS_OF_FAULT: dict[type[Fault], HTTPStatus] = {
    NoSuchPlant: HTTPStatus.NOT_FOUND,
    NoSuchModule: HTTPStatus.NOT_FOUND,
    ValueOutOfRange: HTTPStatus.BAD_REQUEST,
    OrderKeyTaken: HTTPStatus.CONFLICT,
}
"""Any other that gets here is a failure of the gateway; what devices say is in the record of an order."""

PHRASES = {
    400: "The request cannot be read: a body or a parameter is not as described",
    401: f"No access token, or one that is not valid; it needs the scope {MANAGE_SCOPE}",
    403: f"The token lacks the scope {MANAGE_SCOPE}, or its user is not an operator",
    404: "There is no such thing",
    409: "It does not go with what is there now",
    413: "The body is too large",
    415: "The body is not application/json",
    422: "A value breaks a rule",
    500: "The gateway failed",
    502: "It is done, but the mail server would not take the mail",
}


def from_refusal(refused: Refused) -> Problem:
    return Problem(STATUS_OF[type(refused)], str(refused))


def from_fault(fault: Fault) -> Problem:
    status = STATUS_OF_FAULT.get(type(fault), HTTPStatus.INTERNAL_SERVER_ERROR)
    return Problem(status, sentence(fault.message))


def not_let_in(detail: str, *, given: bool) -> Problem:
    """401: who is calling is not known."""
    error = ', error="invalid_token"' if given else ""
    return Problem(401, detail, {"www-authenticate": f'Bearer realm="domogate"{error}'})


def lacks_scope() -> Problem:
    challenge = f'Bearer realm="domogate", error="insufficient_scope", scope="{MANAGE_SCOPE}"'
    detail = f"The token lacks the scope {MANAGE_SCOPE}; the client must ask for it and be registered with it."
    return Problem(403, detail, {"www-authenticate": challenge})
