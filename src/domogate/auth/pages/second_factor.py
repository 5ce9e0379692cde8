"""Pages to switch the authenticator app on and off."""

from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.pages.context import ACCOUNT_PATH
from domogate.auth.pages.enrolment import build_enrolment
from domogate.auth.pages.logged_in import FormRefused, LoggedInPages, PasswordAgain, Visit, done
from domogate.auth.redirects import see_other
from domogate.services.people import LoginComplete, is_secret

FACTOR_PATH = f"{ACCOUNT_PATH}/second-factor"


class SecondFactorPages(LoggedInPages):
    """The pages at /auth/account/second-factor, on which people switch the authenticator app on and off."""

    start = FACTOR_PATH

    def routes(self) -> list[Route]:
        again = PasswordAgain.UNLESS_RECENT
        return [
            Route(FACTOR_PATH, self.shown(self.show), methods=["GET"]),
            self.action(f"{FACTOR_PATH}/on", self.switch_on, self.show_on, again),
            self.action(f"{FACTOR_PATH}/off", self.switch_off, self.show_off, again),
        ]

    async def show(self, visit: Visit, _refused: FormRefused | None) -> Response:
        if visit.user.totp_secret is not None:
            return await self.show_off(visit, None)
        return self._switch_on_page(visit, self._context.sessions.second_factor.new_secret(), None)

    async def show_on(self, visit: Visit, refused: FormRefused | None) -> Response:
        """Show the page to switch the authenticator app on. After a refused form it shows the same secret again."""
        secret = _read_secret(visit)
        return see_other(FACTOR_PATH) if secret is None else self._switch_on_page(visit, secret, refused)

    async def show_off(self, visit: Visit, refused: FormRefused | None) -> Response:
        demanded = self._context.sessions.second_factor_required and not visit.user.has_passkey
        return self._render(visit, "switch_off.html", refused, demanded=demanded)

    async def switch_on(self, visit: Visit) -> Response:
        secret = _read_secret(visit)
        if secret is None:
            return see_other(FACTOR_PATH)
        outcome = await self._context.sessions.switch_on_second_factor(
            visit.person, secret, visit.form.get("code"), visit.address
        )
        if not isinstance(outcome, LoginComplete):
            raise FormRefused(403, {"code": "code.wrong"})
        then = f"{ACCOUNT_PATH}?done=second_factor_on"
        response = await self._context.recovery_codes_page(visit.request, outcome.person, then)
        self._context.set_session(response, outcome)
        return response

    async def switch_off(self, visit: Visit) -> Response:
        if not await self._context.sessions.switch_off_second_factor(visit.person, visit.address):
            raise FormRefused(403)
        return done("second_factor_off")

    def _switch_on_page(self, visit: Visit, secret: str, refused: FormRefused | None) -> Response:
        enrolment = build_enrolment(self._context.sessions.second_factor, secret, visit.user.email)
        return self._render(visit, "set_up.html", refused, action=f"{FACTOR_PATH}/on", demanded=False, enrolment=enrolment)


def _read_secret(visit: Visit) -> str | None:
    """Return the secret in the form.

    Return None if the secret is not usable, or if the person already has an authenticator app.
    """
    secret = visit.form.get("secret")
    return secret if visit.user.totp_secret is None and is_secret(secret) else None
