"""Setting a password by a one-time link. Opening the link does not use it up: mail programs open links by themselves."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.pages.browser import COOKIE, address_of, is_of_this_browser, read_form, visit_token
from domogate.auth.pages.context import PageContext, page_at
from domogate.auth.pages.new_passwords import find_flaw
from domogate.common.secrets import hash_secret
from domogate.domain.authorization import LinkPurpose, OneTimeLink
from domogate.domain.people import User
from domogate.services.people.rules import PASSWORD_LENGTH
from domogate.services.refusals import NotFound, Refused

LINK_PATH = "/auth/password"


class PasswordLinks:
    """/auth/password/TOKEN and /auth/password?token=TOKEN: the second keeps the token out of logs of paths."""

    def __init__(self, kit: PageContext) -> None:
        self._kit = kit

    def routes(self) -> list[Route]:
        return [
            page_at(LINK_PATH, get=self.show, post=self.set_password),
            Route(f"{LINK_PATH}/{{token}}", self.show, methods=["GET"]),
        ]

    async def show(self, request: Request) -> Response:
        token = request.path_params.get("token") or request.query_params.get("token", "")
        found = await self._find(token)
        if isinstance(found, str):
            return self._dead_page(request, found)
        return self._page(request, token, *found)

    async def set_password(self, request: Request) -> Response:
        form = await read_form(request)
        token, password = form.get("token"), form.get("password")
        found = await self._find(token)
        if isinstance(found, str):
            return self._dead_page(request, found)
        link, user = found
        if not is_of_this_browser(form, visit_token(request)):
            return self._page(request, token, link, user, 400, {"": "login.stale"})
        flaw = find_flaw(password, form.get("repeated"), user.email)
        if flaw is not None:
            return self._page(request, token, link, user, 400, dict([flaw]))
        try:
            await self._kit.people.redeem_link(token, password, address=address_of(request))
        except NotFound:
            return self._dead_page(request, "used")
        except Refused:
            return self._page(request, token, link, user, 400, {"password": "password.refused"})
        # Whoever was logged in here with the former password is not any more.
        response = self._kit.render(request, "password_is_set.html", email=user.email)
        self._kit.cookies.remove(response, COOKIE)
        return response

    async def _find(self, token: str) -> tuple[OneTimeLink, User] | str:
        """What the link opens, or why it opens nothing."""
        link = await self._kit.store.find_link(hash_secret(token))
        user = None if link is None else await self._kit.store.find_user(link.user_id)
        if link is None or user is None:
            return "used"
        return "expired" if link.expires_at <= self._kit.clock.now() else (link, user)

    def _page(
        self,
        request: Request,
        token: str,
        link: OneTimeLink,
        user: User,
        status: int = 200,
        problems: dict[str, str] | None = None,
    ) -> Response:
        purpose = "operator" if link.purpose is LinkPurpose.OPERATOR else "renew" if user.active else "first"
        return self._kit.render(
            request,
            "password_link.html",
            status=status,
            token=token,
            email=user.email,
            purpose=purpose,
            problems=problems or {},
            shortest=PASSWORD_LENGTH[0],
        )

    def _dead_page(self, request: Request, why: str) -> Response:
        return self._kit.render(request, "dead_link.html", status=410, why=why, mails_links=self._kit.mails_links)
