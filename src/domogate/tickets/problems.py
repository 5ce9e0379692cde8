"""Refusals of tickets.

An SDK distinguishes them by the field `type`, whose values never change. Several types can have the same status.
"""

import msgspec

from domogate.common.http_messages import Answer
from domogate.domain.faults import sentence
from domogate.http_api.problems import Problem, ProblemDetails
from domogate.services.tickets import NotRedeemed, Reason

TYPE_PREFIX = "urn:domogate:ticket:"

_slowed: dict[tuple[str, ...], Answer] = {}
"""The answers with status 429. They are built once and sent again to later requests.

There are few of them: one for each number of seconds in `Retry-After`.
"""


class Kind(msgspec.Struct, frozen=True):
    """The status and the title of the answer for one reason of refusal.

    The title of a reason is always the same (RFC 9457 §3.1.3).
    """

    status: int
    title: str


KINDS: dict[Reason, Kind] = {
    Reason.INVALID: Kind(401, "Not a permission of this gateway"),
    Reason.EXPIRED: Kind(401, "Expired"),
    Reason.WITHDRAWN: Kind(403, "Right withdrawn"),
    Reason.PASSWORD_TO_RENEW: Kind(469, "Password to be renewed"),
    Reason.TERMS_TO_ACCEPT: Kind(470, "Terms to be accepted"),
    Reason.NO_SUCH_DEVICE: Kind(404, "No such device"),
    Reason.USED: Kind(409, "Used before"),
    Reason.CAMERA_OFF: Kind(410, "Camera off"),
    Reason.SLOW_DOWN: Kind(429, "Too many refusals"),
    Reason.DEVICE_REFUSED: Kind(502, "Device refused"),
    Reason.DEVICE_OFFLINE: Kind(503, "Device offline"),
    # The status is not 408, because a client may repeat a request after 408 automatically (RFC 9110 §15.5.9).
    Reason.DEVICE_TIMEOUT: Kind(504, "Device did not confirm"),
}


class TicketProblem(Problem):
    """The refusal of a ticket or picture token. Its field `type` names the reason.

    `scheme` is the kind of credential that a 401 asks for (RFC 9110 §11.6.1).
    """

    def __init__(self, refused: NotRedeemed, scheme: str) -> None:
        self._reason = refused.reason
        self._kind = KINDS[refused.reason]
        headers: dict[str, str] = {}
        if self._kind.status == 401:
            headers["www-authenticate"] = f'{scheme} realm="domogate", error="{refused.reason}"'
        if refused.retry_after is not None:
            headers["retry-after"] = str(refused.retry_after)
        super().__init__(self._kind.status, sentence(refused.message), headers)

    def details(self) -> ProblemDetails:
        return ProblemDetails(self._kind.title, self.status, self.detail, f"{TYPE_PREFIX}{self._reason}")

    def to_answer(self) -> Answer:
        if self._reason is not Reason.SLOW_DOWN:
            return super().to_answer()
        # This answer must take less time than the check of a signature.
        key = (self.detail, *self.headers.values())
        answer = _slowed.get(key)
        if answer is None:
            answer = _slowed[key] = super().to_answer()
        return answer


def errors_for(reasons: frozenset[Reason]) -> dict[int, str]:
    """Return the statuses of these reasons, each with a description, for the OpenAPI document."""
    titles: dict[int, list[str]] = {}
    for reason, kind in KINDS.items():
        if reason in reasons:
            titles.setdefault(kind.status, []).append(f"{kind.title} (`{TYPE_PREFIX}{reason}`)")
    return {status: "; ".join(found) for status, found in titles.items()}
