"""What is refused on the surfaces of our own, as problem details (RFC 9457) that tell the caller what to do."""

from collections.abc import Mapping
from http import HTTPStatus

import msgspec
from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"

# What http.HTTPStatus does not know (Spec 7).
_OWN_PHRASES = {469: "Password Renewal Required", 470: "Terms Acceptance Required"}


class ProblemDetails(msgspec.Struct, frozen=True, rename="camel"):
    """The body of every refusal. `detail` is for a person."""

    title: str
    status: int
    detail: str
    type: str = "about:blank"


class Problem(Exception):
    """A refusal with its status and headers."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})

    def details(self) -> ProblemDetails:
        return ProblemDetails(_OWN_PHRASES.get(self.status) or HTTPStatus(self.status).phrase, self.status, self.detail)

    def to_response(self) -> Response:
        headers = {"cache-control": "no-store", **self.headers}
        return Response(msgspec.json.encode(self.details()), self.status, headers, MEDIA_TYPE)
