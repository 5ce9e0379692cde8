"""The page to make new recovery codes, for a person with a second factor."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.pages.browser import read_form
from domogate.auth.pages.context import ACCOUNT_PATH, PageContext
from domogate.auth.redirects import see_other
from domogate.auth.routing import route_by_method
from domogate.services.people import LoggedIn

CODES_PATH = f"{ACCOUNT_PATH}/recovery-codes"


class RecoveryCodePages:
    """/auth/account/recovery-codes"""

    def __init__(self, context: PageContext) -> None:
        self._context = context

    def routes(self) -> list[Route]:
        return [route_by_method(CODES_PATH, get=self.show, post=self.renew)]

    async def show(self, request: Request) -> Response:
        person = await self._context.find_person(request)
        if person is None:
            return self._context.to_login(request)
        return await self._page(request, person) if person.user.has_second_factor else see_other(ACCOUNT_PATH)

    async def renew(self, request: Request) -> Response:
        form = await read_form(request)
        person = await self._context.find_person(request)
        if person is None or not person.user.has_second_factor:
            return see_other(ACCOUNT_PATH)
        refused = await self._context.find_refusal(request, person, form)
        if refused is not None:
            return await self._page(request, person, **refused)
        return await self._context.recovery_codes_page(request, person, ACCOUNT_PATH)

    async def _page(self, request: Request, person: LoggedIn, *, problem: str | None = None, **values: Any) -> Response:
        return self._context.render(
            request,
            "renew_codes.html",
            person=person,
            problem=problem,
            asks_password=not self._context.sessions.is_recent(person),
            codes_left=await self._context.sessions.count_recovery_codes(person.user),
            **values,
        )
