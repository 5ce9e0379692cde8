"""The page for a forgotten password. If mail is configured, a one-time link is mailed to the person (Decision 0031).

The link is mailed only if the person is an active user with a real e-mail address.

The page does not reveal whether an account exists. It is rendered before the account is looked up, and it is the same for every
e-mail address.
"""

import asyncio
import math
from typing import Any

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.forms import address_of
from domogate.auth.pages.browser import LONGEST_EMAIL, is_own_form, parse_return_to, read_form, visit_token
from domogate.auth.pages.context import LOGIN_PATH, PageContext, PageGroup
from domogate.auth.routing import route_by_method
from domogate.common.log import get_logger
from domogate.domain.ids import Id
from domogate.domain.login_names import is_login_name_email, read_login
from domogate.services.audit import NOBODY, AuditAction, AuditResult, user_ref
from domogate.services.people import Actor
from domogate.services.refusals import MailFailed, NotFound

FORGOTTEN_PATH = f"{LOGIN_PATH}/forgotten"
_MAILS_AT_ONCE = 4

_log = get_logger(__name__)


class ForgottenPasswordPages(PageGroup):
    """The page at /auth/login/forgotten, on which a person asks for a link to set a new password."""

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        # This throttle is not the throttle of logins: a request for a link must not prevent a login.
        self._throttle = context.throttle_links("forgotten", 3)
        self._mailing = asyncio.Semaphore(_MAILS_AT_ONCE)

    def routes(self) -> list[Route]:
        return [route_by_method(FORGOTTEN_PATH, get=self.show, post=self.ask)]

    async def show(self, request: Request) -> Response:
        return self._page(request, parse_return_to(request.query_params.get("return_to")))

    async def ask(self, request: Request) -> Response:
        form = await read_form(request)
        return_to = parse_return_to(form.get("return_to"))
        if not self._context.mails_links:
            return self._page(request, return_to, 403)
        email, address = form.get("email")[:LONGEST_EMAIL].strip(), address_of(request)
        if not is_own_form(form, visit_token(request)):
            return self._page(request, return_to, 400, email=email, problem="login.stale")
        if not email:
            return self._page(request, return_to, 400, problem="forgotten.empty")
        wait = await self._throttle.admit(email, address)
        if wait > 0:
            self._context.sessions.note(AuditAction.LINK_ISSUED, NOBODY, "an account", AuditResult.SLOWED, address)
            return self._page(request, return_to, 429, email=email, wait=math.ceil(wait))
        response = self._context.render(
            request, "forgotten_sent.html", return_to=return_to, email=email, login_url=self._context.login_url(return_to)
        )
        # This runs after the response: the time that the look-up and the mail take must not reveal who has an account.
        response.background = BackgroundTask(self._send_link, email, address)
        return response

    async def _send_link(self, email: str, address: str) -> None:
        user = await self._context.store.find_user_by_email(read_login(email))
        if user is None:
            self._context.sessions.note(AuditAction.LINK_ISSUED, NOBODY, "unknown user", AuditResult.WRONG, address)
            return
        if not user.active or is_login_name_email(user.email):
            # The link of the invitation sets the first password; this page does not. A login name has no mailbox.
            self._context.sessions.note(AuditAction.LINK_ISSUED, NOBODY, user_ref(user.id), AuditResult.REFUSED, address)
            return
        async with self._mailing:
            try:
                # The request came without a login, so the audit log must not name this user as the actor.
                await self._context.people.issue_password_link(user.id, by=Actor(Id(NOBODY), address))
            except MailFailed as failure:
                self._context.sessions.note(AuditAction.LINK_ISSUED, NOBODY, user_ref(user.id), AuditResult.FAILED, address)
                # The answer of a mail server may contain the address: log only the kind of failure.
                _log.error("the link for a forgotten password was not mailed", reason=type(failure.__cause__).__name__)
            except NotFound:
                pass  # The user was deleted at the same time.

    def _page(self, request: Request, return_to: str | None, status: int = 200, *, email: str = "", **values: Any) -> Response:
        values.setdefault("problem", None)
        return self._context.render(
            request,
            "forgotten.html",
            return_to=return_to,
            status=status,
            login_url=self._context.login_url(return_to),
            mails_links=self._context.mails_links,
            email=email,
            **values,
        )
