"""Faults as problem details, for the surfaces that applications meet outside the families (RFC 9457, RFC 6750 §3)."""

from domogate.domain import faults
from domogate.domain.faults import Fault, KeyRefused, ScopeMissing, TokenRefused, TooManyRequests, sentence
from domogate.http_api.problems import Problem

STATUS_OF: dict[type[Fault], int] = {
    faults.KeyRefused: 401,
    faults.TokenRefused: 401,
    faults.ScopeMissing: 401,
    faults.TooManyRequests: 429,
    faults.PasswordToRenew: 469,
    faults.TermsToAccept: 470,
    faults.NotYourPlant: 403,
    faults.NoSuchPlant: 404,
}
"""As the families do where all of these are listed. Any other that gets here is a failure of the gateway."""


def problem_of(fault: Fault) -> Problem:
    status = STATUS_OF.get(type(fault), 500)
    headers: dict[str, str] = {}
    if status == 401:
        headers["www-authenticate"] = challenge(fault)
    if isinstance(fault, TooManyRequests):
        headers |= {name.decode(): value.decode() for name, value in fault.headers}
        headers["retry-after"] = str(fault.retry_after)
    return Problem(status, sentence(fault.message.rstrip(".")), headers)


def challenge(fault: Fault) -> str:
    """The value of WWW-Authenticate for a 401."""
    if isinstance(fault, ScopeMissing):
        return f'Bearer realm="domogate", error="insufficient_scope", scope="{" ".join(fault.scopes)}"'
    if isinstance(fault, KeyRefused):
        return 'SubscriptionKey realm="domogate", header="Ocp-Apim-Subscription-Key"'
    given = isinstance(fault, TokenRefused) and fault.given
    return 'Bearer realm="domogate", error="invalid_token"' if given else 'Bearer realm="domogate"'
