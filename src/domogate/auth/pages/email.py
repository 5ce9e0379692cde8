"""Pages to change the e-mail address, with a link that is mailed to the new address (Decision 0078).

The pages do not reveal which e-mail addresses have an account: the answer is rendered before the new e-mail address is
looked up.
"""

import math

import structlog
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.forms import address_of
from domogate.auth.pages.browser import LONGEST_EMAIL, is_own_form, read_form
from domogate.auth.pages.context import ACCOUNT_PATH, PageContext
from domogate.auth.redirects import see_other
from domogate.auth.routing import route_by_method
from domogate.domain.formats import is_email
from domogate.domain.people import User
from domogate.ports import MailKind
from domogate.services.audit import AuditAction, AuditResult, user_ref
from domogate.services.people import EMAIL_LINK_PATH, Actor, DeadLink, LoggedIn, LoginThrottle, LoginThrottled
from domogate.services.refusals import Conflict, MailFailed, NotFound

EMAIL_PATH = f"{ACCOUNT_PATH}/email"
CONFIRM_PATH = f"{EMAIL_PATH}/confirm"

_log = structlog.get_logger(__name__)


class EmailPages:
    """/auth/account/email"""

    def __init__(self, context: PageContext) -> None:
        self._context = context
        # Each request may send a mail to a stranger.
        self._throttle = LoginThrottle(
            context.store,
            context.clock,
            purpose="email",
            account_attempts=3,
            first_wait=60.0,
            longest_wait=3600.0,
            half_life=3600.0,
        )

    def routes(self) -> list[Route]:
        return [
            route_by_method(EMAIL_PATH, get=self.show, post=self.ask),
            route_by_method(CONFIRM_PATH, get=self.show_link, post=self.confirm),
        ]

    # --- ask for a link -----------------------------------------------------------------------------------------------

    async def show(self, request: Request) -> Response:
        person = await self._context.find_person(request)
        return self._context.to_login(request) if person is None else self._page(request, person)

    async def ask(self, request: Request) -> Response:
        form = await read_form(request)
        person = await self._context.find_person(request)
        if person is None:
            return self._context.to_login(request)
        email, address = form.get("email").strip()[: LONGEST_EMAIL + 1], address_of(request)
        if not self._context.mails_links:
            return self._page(request, person, 403)
        if not is_own_form(form, person.form_token):
            return self._page(request, person, 400, email, {"": "login.stale"})
        refused = await self._context.sessions.confirm_password(person, form.get("current"), address)
        if isinstance(refused, LoginThrottled):
            return self._page(request, person, 429, email, wait=refused.seconds)
        if refused is not None:
            return self._page(request, person, 403, email, {"current": "password.wrong"})
        if not is_email(email):
            return self._page(request, person, 400, email, {"email": "email.problem_format"})
        if email == person.user.email:
            return self._page(request, person, 400, email, {"email": "email.problem_same"})
        wait = await self._throttle.admit(person.user.id, address)
        if wait > 0:
            self._note(person.user, AuditResult.SLOWED, address)
            return self._page(request, person, 429, email, wait=math.ceil(wait))
        response = self._context.render(request, "email_sent.html", person=person, email=email)
        # This runs after the response: the time that the look-up and the mail take must not reveal who has an account.
        response.background = BackgroundTask(self._send_link, person.user, email, address)
        return response

    async def _send_link(self, user: User, email: str, address: str) -> None:
        try:
            if not await self._context.people.mail_email_link(user, email, by=Actor(user.id, address)):
                self._note(user, AuditResult.REFUSED, address)
        except MailFailed as failure:
            self._note(user, AuditResult.FAILED, address)
            # The answer of a mail server may contain the address: log only the kind of failure.
            _log.error("the link for a new e-mail address was not mailed", reason=type(failure.__cause__).__name__)

    def _note(self, user: User, result: AuditResult, address: str) -> None:
        self._context.sessions.note(AuditAction.LINK_ISSUED, user.id, user_ref(user.id), result, address)

    def _page(
        self,
        request: Request,
        person: LoggedIn,
        status: int = 200,
        email: str = "",
        problems: dict[str, str] | None = None,
        wait: int | None = None,
    ) -> Response:
        return self._context.render(
            request,
            "email.html",
            person=person,
            status=status,
            wait=wait,
            email=email,
            problems=problems or {},
            mails_links=self._context.mails_links,
        )

    # --- open the link ------------------------------------------------------------------------------------------------

    async def show_link(self, request: Request) -> Response:
        """Only the person of the account can confirm the change. If the new address is mistyped, a stranger gets the link."""
        token = request.query_params.get("token", "")
        person = await self._context.find_person(request)
        if person is None:
            return see_other(self._context.login_url(f"{EMAIL_LINK_PATH}{token}"))
        return await self._link_page(request, person, token)

    async def confirm(self, request: Request) -> Response:
        form = await read_form(request)
        token = form.get("token")
        person = await self._context.find_person(request)
        if person is None:
            return self._context.to_login(request)
        if not is_own_form(form, person.form_token):
            return await self._link_page(request, person, token, 400, "login.stale")
        try:
            await self._context.people.confirm_email(person.user.id, token, address=address_of(request))
        except NotFound:
            return await self._link_page(request, person, token)
        except Conflict:
            return await self._link_page(request, person, token, 409)
        response = see_other(f"{ACCOUNT_PATH}?done=email")
        response.background = BackgroundTask(self._context.people.notify, person.user, MailKind.EMAIL_CHANGED)
        return response

    async def _link_page(
        self, request: Request, person: LoggedIn, token: str, status: int = 200, problem: str | None = None
    ) -> Response:
        found = await self._context.people.find_email_link(person.user.id, token)
        dead = isinstance(found, DeadLink)
        return self._context.render(
            request,
            "email_confirm.html",
            person=person,
            status=410 if dead and status == 200 else status,
            why="taken" if status == 409 else found if dead else None,
            token=token,
            email="" if dead else found,
            problem=problem,
        )
