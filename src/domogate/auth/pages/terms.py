"""The page with the terms of use. People can accept only terms that this page shows or links to (Decision 0080)."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.forms import address_of
from domogate.auth.pages.browser import is_own_form, read_form
from domogate.auth.pages.context import ACCOUNT_PATH, PageContext
from domogate.auth.pages.rendering import host_of
from domogate.auth.redirects import see_other
from domogate.auth.routing import route_by_method
from domogate.domain.terms import Terms
from domogate.services.people import LoggedIn

TERMS_PATH = f"{ACCOUNT_PATH}/terms"


class TermsPages:
    """/auth/account/terms"""

    def __init__(self, context: PageContext) -> None:
        self._context = context

    def routes(self) -> list[Route]:
        return [route_by_method(TERMS_PATH, get=self.show, post=self.accept)]

    async def show(self, request: Request) -> Response:
        person, terms = await self._context.find_person(request), self._context.terms
        if person is None:
            return self._context.to_login(request)
        return see_other(ACCOUNT_PATH) if terms is None else self._page(request, person, terms)

    async def accept(self, request: Request) -> Response:
        form = await read_form(request)
        person, terms = await self._context.find_person(request), self._context.terms
        if person is None:
            return self._context.to_login(request)
        if terms is None:
            return see_other(ACCOUNT_PATH)
        if not is_own_form(form, person.form_token):
            return self._page(request, person, terms, 400, "login.stale")
        if form.get("version") != terms.version:
            return self._page(request, person, terms, 409, "terms.changed")
        if form.get("accept") != "yes":
            return self._page(request, person, terms, 400, "terms.tick")
        await self._context.people.accept_terms(person.user.id, terms.version, address=address_of(request))
        return see_other(f"{ACCOUNT_PATH}?done=terms")

    def _page(
        self, request: Request, person: LoggedIn, terms: Terms, status: int = 200, problem: str | None = None
    ) -> Response:
        return self._context.render(
            request,
            "terms.html",
            person=person,
            status=status,
            terms=terms,
            host=host_of(terms.url or ""),
            problem=problem,
        )
