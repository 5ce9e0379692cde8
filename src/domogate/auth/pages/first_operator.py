"""The page on which a person becomes the first operator of a new gateway.

The terminal of the gateway shows the link (Decision 0095).
"""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.forms import address_of
from domogate.auth.pages.browser import LONGEST_EMAIL, is_own_form, read_form, visit_token
from domogate.auth.pages.new_passwords import find_flaw
from domogate.auth.pages.password_links import SetPasswordPages
from domogate.auth.routing import route_by_method
from domogate.services.people import FIRST_OPERATOR_PATH, DeadLink, check_email
from domogate.services.refusals import Conflict, Invalid, NotFound, Refused

_PATH = FIRST_OPERATOR_PATH.partition("?")[0]


class FirstOperatorPages(SetPasswordPages):
    """The page at /auth/first-operator?token=TOKEN, on which a person becomes the first operator of a new gateway."""

    def routes(self) -> list[Route]:
        return [route_by_method(_PATH, get=self.show, post=self.accept)]

    async def show(self, request: Request) -> Response:
        token = request.query_params.get("token", "")
        why = await self._context.people.check_offer(token)
        return self._page(request, token) if why is None else self._dead(request, why)

    async def accept(self, request: Request) -> Response:
        form = await read_form(request)
        token, password, email = form.get("token"), form.get("password"), form.get("email").strip()[:LONGEST_EMAIL]
        why = await self._context.people.check_offer(token)
        if why is not None:
            return self._dead(request, why)
        if not is_own_form(form, visit_token(request)):
            return self._page(request, token, email, {"": "login.stale"})
        try:
            check_email(email)
        except Invalid:
            return self._page(request, token, email, {"email": "email.problem_format"})
        flaw = find_flaw(password, form.get("repeated"), email)
        if flaw is not None:
            return self._page(request, token, email, dict([flaw]))
        try:
            user = await self._context.people.accept_offer(token, email, password, address=address_of(request))
        except (NotFound, Conflict):
            return self._dead(request, DeadLink.USED)
        except Refused:
            return self._page(request, token, email, {"password": "password.refused"})
        return await self._context.log_in_after_link(request, user, password)

    def _page(self, request: Request, token: str, email: str = "", problems: dict[str, str] | None = None) -> Response:
        return self._form(request, problems, action=_PATH, token=token, purpose="claim", email=email)

    def _dead(self, request: Request, why: DeadLink) -> Response:
        return self._dead_page(request, why, "link.new_one" if why is DeadLink.USED else "link.new_offer", mails_links=False)
