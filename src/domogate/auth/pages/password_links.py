"""The page to set a password by a one-time link.

Opening the page does not use up the link, because mail programs open links too.
"""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.forms import address_of
from domogate.auth.pages.browser import COOKIE, is_own_form, read_form, visit_token
from domogate.auth.pages.context import PageGroup
from domogate.auth.pages.new_passwords import find_flaw
from domogate.auth.routing import route_by_method
from domogate.domain.authorization import LinkPurpose, OneTimeLink
from domogate.domain.passwords import PASSWORD_LENGTH
from domogate.domain.people import User
from domogate.services.people import DeadLink
from domogate.services.refusals import NotFound, Refused

LINK_PATH = "/auth/password"


class PasswordLinkPages(PageGroup):
    """/auth/password/TOKEN and /auth/password?token=TOKEN. The second form keeps the token out of logs that contain paths."""

    def routes(self) -> list[Route]:
        return [
            route_by_method(LINK_PATH, get=self.show, post=self.set_password),
            Route(f"{LINK_PATH}/{{token}}", self.show, methods=["GET"]),
        ]

    async def show(self, request: Request) -> Response:
        token = request.path_params.get("token") or request.query_params.get("token", "")
        found = await self._context.people.links.find(token)
        if isinstance(found, DeadLink):
            return self._dead_page(request, found)
        return await self._page(request, token, *found)

    async def set_password(self, request: Request) -> Response:
        form = await read_form(request)
        token, password = form.get("token"), form.get("password")
        found = await self._context.people.links.find(token)
        if isinstance(found, DeadLink):
            return self._dead_page(request, found)
        link, user = found
        if not is_own_form(form, visit_token(request)):
            return await self._page(request, token, link, user, 400, {"": "login.stale"})
        flaw = find_flaw(password, form.get("repeated"), user.email)
        if flaw is not None:
            return await self._page(request, token, link, user, 400, dict([flaw]))
        try:
            changed = await self._context.people.redeem_link(token, password, address=address_of(request))
        except NotFound:
            return self._dead_page(request, DeadLink.USED)
        except Refused:
            return await self._page(request, token, link, user, 400, {"password": "password.refused"})
        await self._context.end_webhooks(request, user.id, form, "The user chose a new password.")
        await self._context.people.remember_page_language(changed, self._context.language_for(request).code)
        # A session with the old password has ended.
        response = self._context.render(request, "password_is_set.html", user=changed)
        self._context.cookies.remove(response, COOKIE)
        return response

    async def _page(
        self,
        request: Request,
        token: str,
        link: OneTimeLink,
        user: User,
        status: int = 200,
        problems: dict[str, str] | None = None,
    ) -> Response:
        purpose = "operator" if link.purpose is LinkPurpose.OPERATOR else "renew" if user.active else "first"
        return self._context.render(
            request,
            "password_link.html",
            status=status,
            token=token,
            email=user.email,
            purpose=purpose,
            problems=problems or {},
            shortest=PASSWORD_LENGTH[0],
            has_webhooks=bool(await self._context.webhooks.list_active_of(user.id)),
        )

    def _dead_page(self, request: Request, why: DeadLink) -> Response:
        return self._context.render(request, "dead_link.html", status=410, why=why, mails_links=self._context.mails_links)
