"""Pages to change the password and to switch the second factor on or off. The person must enter the password again."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.forms import address_of
from domogate.auth.pages.browser import is_own_form, read_form
from domogate.auth.pages.context import ACCOUNT_PATH, PageContext
from domogate.auth.pages.enrolment import build_enrolment
from domogate.auth.pages.new_passwords import find_flaw
from domogate.auth.redirects import see_other
from domogate.auth.routing import route_by_method
from domogate.domain.passwords import PASSWORD_LENGTH
from domogate.services.people import LoggedIn, LoginComplete, LoginThrottled, is_secret
from domogate.services.refusals import Conflict, Refused

PASSWORD_PATH = f"{ACCOUNT_PATH}/password"
FACTOR_PATH = f"{ACCOUNT_PATH}/second-factor"


class SecurityPages:
    """/auth/account/password, /auth/account/second-factor"""

    def __init__(self, context: PageContext) -> None:
        self._context = context

    def routes(self) -> list[Route]:
        return [
            route_by_method(PASSWORD_PATH, get=self.show_password, post=self.change_password),
            Route(FACTOR_PATH, self.show_factor, methods=["GET"]),
            Route(f"{FACTOR_PATH}/on", self.switch_on, methods=["POST"]),
            Route(f"{FACTOR_PATH}/off", self.switch_off, methods=["POST"]),
        ]

    # --- password -----------------------------------------------------------------------------------------------------

    async def show_password(self, request: Request) -> Response:
        person = await self._context.find_person(request)
        return self._context.to_login(request) if person is None else self._password_page(request, person)

    async def change_password(self, request: Request) -> Response:
        form = await read_form(request)
        person = await self._context.find_person(request)
        if person is None:
            return self._context.to_login(request)
        if not is_own_form(form, person.form_token):
            return self._password_page(request, person, 400, {"": "login.stale"})
        current, password = form.get("current"), form.get("password")
        refused = await self._context.sessions.confirm_password(person, current, address_of(request))
        if isinstance(refused, LoginThrottled):
            return self._password_page(request, person, 429, wait=refused.seconds)
        if refused is not None:
            return self._password_page(request, person, 403, {"current": "password.wrong"})
        flaw = find_flaw(password, form.get("repeated"), person.user.email, current=current)
        if flaw is not None:
            return self._password_page(request, person, 400, dict([flaw]))
        try:
            await self._context.people.set_password(
                person.user.id,
                password,
                instead_of=person.user.password_hash,
                keep_session=person.session.id,
                address=address_of(request),
            )
        except Conflict:
            return self._context.to_login(request)  # another request changed the password and ended this session
        except Refused:
            return self._password_page(request, person, 400, {"password": "password.refused"})
        return see_other(f"{ACCOUNT_PATH}?done=password")

    def _password_page(
        self,
        request: Request,
        person: LoggedIn,
        status: int = 200,
        problems: dict[str, str] | None = None,
        wait: int | None = None,
    ) -> Response:
        """`problems`: the key of a text for each field that is wrong."""
        return self._context.render(
            request,
            "password.html",
            person=person,
            status=status,
            wait=wait,
            problems=problems or {},
            shortest=PASSWORD_LENGTH[0],
        )

    # --- second factor ------------------------------------------------------------------------------------------------

    async def show_factor(self, request: Request) -> Response:
        person = await self._context.find_person(request)
        if person is None:
            return self._context.to_login(request)
        if person.user.totp_secret is not None:
            return self._switch_off_page(request, person)
        return self._switch_on_page(request, person, self._context.sessions.second_factor.new_secret())

    async def switch_on(self, request: Request) -> Response:
        form = await read_form(request)
        person = await self._context.find_person(request)
        if person is None:
            return see_other(self._context.login_url(FACTOR_PATH))
        secret = form.get("secret")
        if person.user.totp_secret is not None or not is_secret(secret):
            return see_other(FACTOR_PATH)
        if not is_own_form(form, person.form_token):
            return self._switch_on_page(request, person, secret, 400, "login.stale")
        outcome = await self._context.sessions.switch_on_second_factor(person, secret, form.get("code"), address_of(request))
        if not isinstance(outcome, LoginComplete):
            return self._switch_on_page(request, person, secret, 403, "code.wrong")
        response = see_other(f"{ACCOUNT_PATH}?done=second_factor_on")
        self._context.set_session(response, outcome)
        return response

    async def switch_off(self, request: Request) -> Response:
        form = await read_form(request)
        person = await self._context.find_person(request)
        if person is None:
            return see_other(self._context.login_url(FACTOR_PATH))
        if not is_own_form(form, person.form_token):
            return self._switch_off_page(request, person, 400, problem="login.stale")
        refused = await self._context.sessions.confirm_password(person, form.get("current"), address_of(request))
        if isinstance(refused, LoginThrottled):
            return self._switch_off_page(request, person, 429, wait=refused.seconds)
        if refused is not None:
            return self._switch_off_page(request, person, 403, problem="password.wrong")
        if not await self._context.sessions.switch_off_second_factor(person, address_of(request)):
            return self._switch_off_page(request, person, 403)
        return see_other(f"{ACCOUNT_PATH}?done=second_factor_off")

    def _switch_on_page(
        self, request: Request, person: LoggedIn, secret: str, status: int = 200, problem: str | None = None
    ) -> Response:
        return self._context.render(
            request,
            "set_up.html",
            person=person,
            status=status,
            action=f"{FACTOR_PATH}/on",
            demanded=False,
            enrolment=build_enrolment(self._context.sessions.second_factor, secret, person.user.email),
            problem=problem,
        )

    def _switch_off_page(
        self, request: Request, person: LoggedIn, status: int = 200, *, problem: str | None = None, **values: Any
    ) -> Response:
        demanded = self._context.sessions.second_factor_required
        return self._context.render(
            request, "switch_off.html", person=person, status=status, problem=problem, demanded=demanded, **values
        )
