"""A forgotten password: where there is mail, a one-time link goes to the account's mailbox (Decision 0031).

Whether there is an account shows nowhere: the answer is made before anybody is looked up, and is the same for every e-mail.
"""

import asyncio
import math

import structlog
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.pages.browser import LONGEST_EMAIL, address_of, is_of_this_browser, parse_return_to, read_form, visit_token
from domogate.auth.pages.context import LOGIN_PATH, PageContext, page_at
from domogate.domain.ids import Id
from domogate.services.audit.log import NOBODY, AuditAction, AuditResult, user_ref
from domogate.services.people.login_throttle import Throttle
from domogate.services.people.people import Actor, MailFailed, NotFound

FORGOTTEN_PATH = f"{LOGIN_PATH}/forgotten"
_MAILS_AT_ONCE = 4

_log = structlog.get_logger(__name__)


class Forgotten:
    """/auth/login/forgotten"""

    def __init__(self, kit: PageContext) -> None:
        self._kit = kit
        # Apart from the one of logins: asking for links must keep nobody from logging in. Every request counts, each may fill
        # a mailbox: the waits are longer.
        self._throttle = Throttle(
            kit.store,
            kit.clock,
            purpose="forgotten",
            account_attempts=2,
            first_wait=60.0,
            longest_wait=3600.0,
            half_life=3600.0,
        )
        self._mailing = asyncio.Semaphore(_MAILS_AT_ONCE)

    def routes(self) -> list[Route]:
        return [page_at(FORGOTTEN_PATH, get=self.show, post=self.ask)]

    async def show(self, request: Request) -> Response:
        return self._page(request, parse_return_to(request.query_params.get("return_to")))

    async def ask(self, request: Request) -> Response:
        form = await read_form(request)
        return_to = parse_return_to(form.get("return_to"))
        if not self._kit.mails_links:
            return self._page(request, return_to, 403)
        email, address = form.get("email")[:LONGEST_EMAIL].strip(), address_of(request)
        if not is_of_this_browser(form, visit_token(request)):
            return self._page(request, return_to, 400, email=email, problem="login.stale")
        if not email:
            return self._page(request, return_to, 400, problem="forgotten.empty")
        wait = await self._throttle.admit(email, address)
        if wait > 0:
            self._kit.sessions.note(AuditAction.LINK_ISSUED, NOBODY, "an account", AuditResult.SLOWED, address)
            return self._page(request, return_to, 429, email=email, wait=math.ceil(wait))
        response = self._kit.render(
            request, "forgotten_sent.html", return_to=return_to, email=email, login_url=self._kit.login_url(return_to)
        )
        # Only after the answer: how long a look-up, a write and a mail server take must not tell who has an account.
        response.background = BackgroundTask(self._send_link, email, address)
        return response

    async def _send_link(self, email: str, address: str) -> None:
        user = await self._kit.store.find_user_by_email(email)
        if user is None:
            self._kit.sessions.note(AuditAction.LINK_ISSUED, NOBODY, "unknown user", AuditResult.WRONG, address)
            return
        if not user.active:
            # Who has no password yet has none to forget: their account comes to life by the link of who let them in.
            self._kit.sessions.note(AuditAction.LINK_ISSUED, NOBODY, user_ref(user.id), AuditResult.REFUSED, address)
            return
        async with self._mailing:
            try:
                # Whoever asked has not proved to be this user, and the audit log must not say so.
                await self._kit.people.issue_password_link(user.id, by=Actor(Id(NOBODY), address))
            except MailFailed as failure:
                self._kit.sessions.note(AuditAction.LINK_ISSUED, NOBODY, user_ref(user.id), AuditResult.FAILED, address)
                # What a mail server answers may name whom the mail was for: only the kind of failure is told.
                _log.error("the link for a forgotten password was not mailed", reason=type(failure.__cause__).__name__)
            except NotFound:
                pass  # deleted at this moment

    def _page(
        self,
        request: Request,
        return_to: str | None,
        status: int = 200,
        *,
        email: str = "",
        problem: str | None = None,
        wait: int | None = None,
    ) -> Response:
        return self._kit.render(
            request,
            "forgotten.html",
            return_to=return_to,
            status=status,
            headers={} if wait is None else {"retry-after": str(wait)},
            login_url=self._kit.login_url(return_to),
            mails_links=self._kit.mails_links,
            email=email,
            problem=problem,
            wait=wait,
        )
