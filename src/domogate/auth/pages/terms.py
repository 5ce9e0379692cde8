"""The page with the terms of use. People can accept only terms that this page shows or links to (Decision 0080)."""

from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.pages.context import ACCOUNT_PATH
from domogate.auth.pages.logged_in import FormRefused, LoggedInPages, Visit, done
from domogate.auth.pages.rendering import host_of
from domogate.auth.redirects import see_other

TERMS_PATH = f"{ACCOUNT_PATH}/terms"


class TermsPages(LoggedInPages):
    """The page at /auth/account/terms, on which people read and accept the terms of use."""

    def routes(self) -> list[Route]:
        return [self.form(TERMS_PATH, self.show, self.accept)]

    async def show(self, visit: Visit, refused: FormRefused | None) -> Response:
        terms = self._context.terms
        if terms is None:
            return see_other(ACCOUNT_PATH)
        return self._render(visit, "terms.html", refused, terms=terms, host=host_of(terms.url or ""))

    async def accept(self, visit: Visit) -> Response:
        terms = self._context.terms
        if terms is None:
            return see_other(ACCOUNT_PATH)
        if visit.form.get("version") != terms.version:
            raise FormRefused(409, {"": "terms.changed"})
        if visit.form.get("accept") != "yes":
            raise FormRefused(400, {"accept": "terms.tick"})
        await self._context.people.accept_terms(visit.user.id, terms.version, address=visit.address)
        return done("terms")
