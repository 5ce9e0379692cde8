"""Pages to change the e-mail address, with a link that is mailed to the new address (Decision 0078).

The pages do not reveal which e-mail addresses have an account: the answer is rendered before the new e-mail address is
looked up.
"""

import math

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.pages.browser import LONGEST_EMAIL
from domogate.auth.pages.context import ACCOUNT_PATH, PageContext
from domogate.auth.pages.logged_in import FormRefused, LoggedInPages, PasswordAgain, Visit, done
from domogate.auth.redirects import see_other
from domogate.auth.routing import route_by_method
from domogate.common.log import get_logger
from domogate.domain.people import User
from domogate.ports import MailKind
from domogate.services.audit import AuditAction, AuditResult, user_ref
from domogate.services.people import EMAIL_LINK_PATH, Actor, DeadLink, check_email
from domogate.services.refusals import Conflict, Invalid, MailFailed, NotFound

EMAIL_PATH = f"{ACCOUNT_PATH}/email"
CONFIRM_PATH = f"{EMAIL_PATH}/confirm"

_log = get_logger(__name__)


class EmailPages(LoggedInPages):
    """The pages at /auth/account/email, on which people change their e-mail address."""

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        self._throttle = context.throttle_links("email", 3)

    def routes(self) -> list[Route]:
        return [
            self.form(EMAIL_PATH, self.show, self.ask, PasswordAgain.ALWAYS),
            route_by_method(CONFIRM_PATH, get=self.open_link, post=self.posted(self.confirm, self.show_link)),
        ]

    # --- ask for a link -----------------------------------------------------------------------------------------------

    async def show(self, visit: Visit, refused: FormRefused | None) -> Response:
        return self._render(visit, "email.html", refused, email=_read_email(visit), mails_links=self._context.mails_links)

    async def ask(self, visit: Visit) -> Response:
        user, email, address = visit.user, _read_email(visit), visit.address
        if not self._context.mails_links:
            raise FormRefused(403)
        try:
            check_email(email)
        except Invalid:
            raise FormRefused(400, {"email": "email.problem_format"}) from None
        if email == user.email:
            raise FormRefused(400, {"email": "email.problem_same"})
        wait = await self._throttle.admit(user.id, address)
        if wait > 0:
            self._note(user, AuditResult.SLOWED, address)
            raise FormRefused(429, wait=math.ceil(wait))
        response = self._render(visit, "email_sent.html", email=email)
        # This runs after the response: the time that the look-up and the mail take must not reveal who has an account.
        response.background = BackgroundTask(self._send_link, user, email, address)
        return response

    async def _send_link(self, user: User, email: str, address: str) -> None:
        try:
            if not await self._context.people.mail_email_link(user, email, by=Actor(user.id, address)):
                self._note(user, AuditResult.REFUSED, address)
        except MailFailed as failure:
            self._note(user, AuditResult.FAILED, address)
            # The answer of a mail server may contain the address: log only the kind of failure.
            _log.error("the link for a new e-mail address was not mailed", reason=type(failure.__cause__).__name__)
        except NotFound:
            pass  # The user was deleted at the same time.

    def _note(self, user: User, result: AuditResult, address: str) -> None:
        self._context.sessions.note(AuditAction.LINK_ISSUED, user.id, user_ref(user.id), result, address)

    # --- open the link ------------------------------------------------------------------------------------------------

    async def open_link(self, request: Request) -> Response:
        """Show the page that the mailed link opens. Only the person who asked for the change can confirm it there.

        If the person mistyped the new address, a stranger gets the link, but cannot use it.
        """
        person = await self._context.find_person(request)
        if person is None:
            token = request.query_params.get("token", "")
            return see_other(self._context.login_url(f"{EMAIL_LINK_PATH}{token}"))
        return await self.show_link(Visit(request, person), None)

    async def confirm(self, visit: Visit) -> Response:
        try:
            await self._context.people.confirm_email(visit.user.id, visit.form.get("token"), address=visit.address)
        except NotFound:
            return await self.show_link(visit, None)
        except Conflict:
            raise FormRefused(409) from None
        response = done("email")
        response.background = BackgroundTask(self._context.people.notify, visit.user, MailKind.EMAIL_CHANGED)
        return response

    async def show_link(self, visit: Visit, refused: FormRefused | None) -> Response:
        token = visit.get("token")
        found = await self._context.people.find_email_link(visit.user.id, token)
        dead = isinstance(found, DeadLink)
        taken = refused is not None and refused.status == 409
        return self._render(
            visit,
            "email_confirm.html",
            FormRefused(410) if dead and refused is None else refused,
            why="taken" if taken else found if dead else None,
            token=token,
            email="" if dead else found,
        )


def _read_email(visit: Visit) -> str:
    return visit.form.get("email").strip()[: LONGEST_EMAIL + 1]
