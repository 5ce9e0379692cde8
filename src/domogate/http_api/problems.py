"""Refusals of our own surfaces: problem details (RFC 9457) with a text for the caller, and challenges (RFC 6750 §3)."""

import math
from collections.abc import Mapping
from http import HTTPStatus

import msgspec

from domogate.common.http_messages import Answer, make_answer
from domogate.domain import faults
from domogate.domain.faults import Fault, Internal, KeyRefused, ScopeMissing, TokenRefused, TooManyRequests, sentence
from domogate.services import refusals
from domogate.services.people import TooOften
from domogate.services.refusals import Reason, Refused

MEDIA_TYPE = "application/problem+json"

_BEGINNING, _END = 500, 100
"""Of a long detail, only the first `_BEGINNING` characters and the last `_END` characters are sent.

The middle is left out, because the detail may quote a long value.
"""

# Statuses of the specification (Spec 7) that http.HTTPStatus does not have.
_OWN_TITLES = {469: "Password Renewal Required", 470: "Terms Acceptance Required"}

STATUS_OF: dict[type[Exception], int] = {
    faults.KeyRefused: 401,
    faults.TokenRefused: 401,
    faults.ScopeMissing: 401,
    faults.TooManyRequests: 429,
    faults.PasswordToRenew: 469,
    faults.TermsToAccept: 470,
    faults.NotYourPlant: 403,
    faults.NoSuchPlant: 404,
    faults.NoSuchModule: 404,
    faults.ValueOutOfRange: 400,
    faults.OrderKeyTaken: 409,
    faults.NotASite: 404,
    faults.DeviceRefused: 502,
    faults.CommandNotSupported: 502,
    faults.DeviceOffline: 503,
    faults.DeviceTimeout: 504,
    refusals.NotFound: 404,
    refusals.Invalid: 422,
    refusals.Conflict: 409,
    refusals.Forbidden: 403,
    refusals.MailFailed: 502,
    TooOften: 429,
}
"""The status of each fault and refusal. A fault that is not in this table is a failure of the gateway: 500, or 503 if it is
temporary.
"""


REASON_OF: dict[type[Exception], Reason] = {
    faults.DeviceOffline: Reason.DEVICE_OFFLINE,
    faults.DeviceTimeout: Reason.DEVICE_TIMEOUT,
    faults.DeviceRefused: Reason.DEVICE_REFUSED,
    faults.CommandNotSupported: Reason.DEVICE_REFUSED,
}


class ProblemDetails(msgspec.Struct, frozen=True, rename="camel"):
    """The body of every refusal. `detail` is for a person, in English.

    Some refusals have a `reason`: a code that does not change, so that a client can show the reason in another language.
    """

    title: str
    status: int
    detail: str
    type: str = "about:blank"
    reason: str | msgspec.UnsetType = msgspec.UNSET


class Problem(Exception):
    """The request is refused. The answer has this status and these headers."""

    def __init__(
        self, status: int, detail: str, headers: Mapping[str, str] | None = None, reason: Reason | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})
        self.reason = reason

    def details(self) -> ProblemDetails:
        title = _OWN_TITLES.get(self.status) or HTTPStatus(self.status).phrase
        detail = self.detail
        if len(detail) > _BEGINNING + _END:
            detail = f"{detail[:_BEGINNING]} … {detail[-_END:]}"
        return ProblemDetails(title, self.status, detail, reason=self.reason or msgspec.UNSET)

    def to_answer(self) -> Answer:
        headers = {"cache-control": "no-store", **self.headers}
        return make_answer(self.status, msgspec.json.encode(self.details()), headers, MEDIA_TYPE)


def problem_of(error: Problem | Refused | Fault) -> Problem:
    if isinstance(error, Problem):
        return error
    is_temporary = isinstance(error, Internal) and error.is_temporary
    status = 503 if is_temporary else STATUS_OF.get(type(error), 500)
    if isinstance(error, Refused):
        wait = {"retry-after": str(math.ceil(error.wait))} if isinstance(error, TooOften) else None
        return Problem(status, str(error), wait, error.reason)
    headers = {"x-fault": str(error.code)}
    if is_temporary:
        headers["retry-after"] = "1"
    if status == 401:
        headers["www-authenticate"] = _challenge(error)
    if isinstance(error, TooManyRequests):
        headers |= {name.decode(): value.decode() for name, value in error.headers}
        headers["retry-after"] = str(error.retry_after)
    return Problem(status, sentence(error.message.rstrip(".")), headers, REASON_OF.get(type(error)))


def bearer_challenge(error: str = "", scope: str = "") -> str:
    """Return a value of WWW-Authenticate that asks for a bearer token."""
    parts = ['Bearer realm="domogate"', f'error="{error}"' if error else "", f'scope="{scope}"' if scope else ""]
    return ", ".join(filter(None, parts))


def _challenge(fault: Fault) -> str:
    if isinstance(fault, ScopeMissing):
        return bearer_challenge("insufficient_scope", " ".join(fault.scopes))
    if isinstance(fault, KeyRefused):
        return 'SubscriptionKey realm="domogate", header="Ocp-Apim-Subscription-Key"'
    return bearer_challenge("invalid_token" if isinstance(fault, TokenRefused) and fault.given else "")
