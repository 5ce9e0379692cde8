"""The page to set a password by a one-time link.

Opening the page does not use up the link, because mail programs open links too.
"""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.forms import address_of
from domogate.auth.pages.browser import is_own_form, read_form, visit_token
from domogate.auth.pages.context import PageGroup
from domogate.auth.pages.new_passwords import find_flaw
from domogate.auth.routing import route_by_method
from domogate.domain.authorization import LinkPurpose, OneTimeLink
from domogate.domain.passwords import PASSWORD_LENGTH
from domogate.domain.people import User
from domogate.domain.webhooks import EndReason
from domogate.services.people import DeadLink
from domogate.services.refusals import NotFound, Refused

LINK_PATH = "/auth/password"


class SetPasswordPages(PageGroup):
    """Base class of pages that a link opens: the form to set a password, and the page for a link that does not work."""

    def _form(
        self,
        request: Request,
        problems: dict[str, str] | None,
        *,
        action: str,
        token: str,
        purpose: str,
        email: str,
        has_webhooks: bool = False,
    ) -> Response:
        """Show the form. It is posted to `action`. `purpose` chooses the texts."""
        return self._context.render(
            request,
            "password_link.html",
            status=400 if problems else 200,
            problems=problems or {},
            shortest=PASSWORD_LENGTH[0],
            action=action,
            token=token,
            purpose=purpose,
            email=email,
            has_webhooks=has_webhooks,
        )

    def _dead_page(
        self, request: Request, why: str, advice: str = "link.new_one", *, mails_links: bool | None = None
    ) -> Response:
        """Render the page for a link that does not work.

        The texts `link.{why}_title` and `link.{why}_about` say why the link does not work. `advice` is the key of the text that
        says how to get another link if no link can be mailed.
        """
        mailed = self._context.mails_links if mails_links is None else mails_links
        return self._context.render(request, "dead_link.html", status=410, why=why, advice=advice, mails_links=mailed)


class PasswordLinkPages(SetPasswordPages):
    """The page to set a password by a one-time link. Its address is /auth/password/TOKEN or /auth/password?token=TOKEN.

    The second address keeps the token out of logs that contain only the path of a request.
    """

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
            return await self._page(request, token, link, user, {"": "login.stale"})
        flaw = find_flaw(password, form.get("repeated"), user.email)
        if flaw is not None:
            return await self._page(request, token, link, user, dict([flaw]))
        try:
            changed = await self._context.people.redeem_link(token, password, address=address_of(request))
        except NotFound:
            return self._dead_page(request, DeadLink.USED)
        except Refused:
            return await self._page(request, token, link, user, {"password": "password.refused"})
        await self._context.end_webhooks(request, user.id, form, EndReason.NEW_PASSWORD)
        return await self._context.log_in_after_link(request, changed, password)

    async def _page(
        self, request: Request, token: str, link: OneTimeLink, user: User, problems: dict[str, str] | None = None
    ) -> Response:
        purpose = "operator" if link.purpose is LinkPurpose.OPERATOR else "renew" if user.active else "first"
        has_webhooks = bool(await self._context.webhooks.list_active_of(user.id))
        return self._form(
            request,
            problems,
            action=LINK_PATH,
            token=token,
            purpose=purpose,
            email=user.email,
            has_webhooks=has_webhooks,
        )
