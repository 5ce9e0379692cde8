"""The page to change the password. The person must also enter the present password."""

from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.pages.context import ACCOUNT_PATH
from domogate.auth.pages.logged_in import FormRefused, LoggedInPages, PasswordAgain, Visit, done
from domogate.auth.pages.new_passwords import find_flaw
from domogate.auth.redirects import see_other
from domogate.domain.passwords import PASSWORD_LENGTH
from domogate.domain.webhooks import EndReason
from domogate.services.refusals import Conflict, Refused

PASSWORD_PATH = f"{ACCOUNT_PATH}/password"


class PasswordPages(LoggedInPages):
    """The page at /auth/account/password, on which a person changes the password."""

    def routes(self) -> list[Route]:
        return [self.form(PASSWORD_PATH, self.show, self.change, PasswordAgain.ALWAYS)]

    async def show(self, visit: Visit, refused: FormRefused | None) -> Response:
        has_webhooks = bool(await self._context.webhooks.list_active_of(visit.user.id))
        return self._render(visit, "password.html", refused, shortest=PASSWORD_LENGTH[0], has_webhooks=has_webhooks)

    async def change(self, visit: Visit) -> Response:
        user, form = visit.user, visit.form
        password = form.get("password")
        flaw = find_flaw(password, form.get("repeated"), user.email, current=form.get("current"))
        if flaw is not None:
            raise FormRefused(400, dict([flaw]))
        try:
            await self._context.people.set_password(
                user.id,
                password,
                instead_of=user.password_hash,
                keep_session=visit.person.session.id,
                address=visit.address,
            )
        except Conflict:
            # Another request changed the password and ended this session.
            return see_other(self._context.login_url(ACCOUNT_PATH))
        except Refused:
            raise FormRefused(400, {"password": "password.refused"}) from None
        await self._context.end_webhooks(visit.request, user.id, form, EndReason.NEW_PASSWORD)
        return done("password")
