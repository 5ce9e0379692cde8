"""The base of the endpoints to which an application sends the browser of a person."""

from typing import ClassVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from domogate.auth.authorization_request import BadRedirect
from domogate.auth.pages import COOKIE, Pages
from domogate.services.authorization import Authorization, OAuthFault
from domogate.services.people import LoggedIn, Sessions


class BrowserEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Finds the logged-in person, and shows the errors that are not sent back to the application."""

    ADVICE: ClassVar[str]
    """The advice that the developer of the application sees if the request cannot be parsed."""

    authorization: Authorization
    sessions: Sessions
    pages: Pages
    issuer: str
    max_body: int

    async def find_person(self, request: Request) -> LoggedIn | None:
        return await self.sessions.find(request.cookies.get(COOKIE))

    def show(self, request: Request, problem: BadRedirect | OAuthFault) -> Response:
        if isinstance(problem, BadRedirect):
            return self.pages.render_error(request, status=400, problem=problem.problem, advice=problem.advice)
        return self.pages.render_error(request, status=400, problem=problem.description, advice=self.ADVICE)
