"""Changing the password, and switching the second factor on and off: for who proves again that it is them."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.pages.browser import address_of, is_of_this_browser, read_form
from domogate.auth.pages.context import ACCOUNT_PATH, PageContext, page_at, see_other
from domogate.auth.pages.new_passwords import find_flaw
from domogate.auth.pages.qr import enrolment
from domogate.services.people.rules import PASSWORD_LENGTH
from domogate.services.people.second_factor import is_secret
from domogate.services.people.sessions import Entered, LoggedIn, SlowDown
from domogate.services.refusals import Conflict, Refused

PASSWORD_PATH = f"{ACCOUNT_PATH}/password"
FACTOR_PATH = f"{ACCOUNT_PATH}/second-factor"


class Security:
    """/auth/account/password, /auth/account/second-factor"""

    def __init__(self, kit: PageContext) -> None:
        self._kit = kit

    def routes(self) -> list[Route]:
        return [
            page_at(PASSWORD_PATH, get=self.show_password, post=self.change_password),
            Route(FACTOR_PATH, self.show_factor, methods=["GET"]),
            Route(f"{FACTOR_PATH}/on", self.switch_on, methods=["POST"]),
            Route(f"{FACTOR_PATH}/off", self.switch_off, methods=["POST"]),
        ]

    # --- the password -------------------------------------------------------------------------------------------------

    async def show_password(self, request: Request) -> Response:
        person = await self._kit.find_person(request)
        return self._kit.to_login(request) if person is None else self._password_page(request, person)

    async def change_password(self, request: Request) -> Response:
        form = await read_form(request)
        person = await self._kit.find_person(request)
        if person is None:
            return self._kit.to_login(request)
        if not is_of_this_browser(form, person.form_token):
            return self._password_page(request, person, 400, {"": "login.stale"})
        current, password = form.get("current"), form.get("password")
        refused = await self._kit.sessions.confirm_password(person, current, address_of(request))
        if isinstance(refused, SlowDown):
            return self._password_page(request, person, 429, wait=refused.seconds)
        if refused is not None:
            return self._password_page(request, person, 403, {"current": "password.wrong"})
        flaw = find_flaw(password, form.get("repeated"), person.user.email, current=current)
        if flaw is not None:
            return self._password_page(request, person, 400, dict([flaw]))
        try:
            await self._kit.people.set_password(
                person.user.id,
                password,
                instead_of=person.user.password_hash,
                keep_session=person.session.id,
                address=address_of(request),
            )
        except Conflict:
            return self._kit.to_login(request)  # it was renewed at the same moment, which has ended this session
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
        return self._kit.render(
            request,
            "password.html",
            person=person,
            status=status,
            headers={} if wait is None else {"retry-after": str(wait)},
            problems=problems or {},
            wait=wait,
            shortest=PASSWORD_LENGTH[0],
        )

    # --- the second factor --------------------------------------------------------------------------------------------

    async def show_factor(self, request: Request) -> Response:
        person = await self._kit.find_person(request)
        if person is None:
            return self._kit.to_login(request)
        if person.user.totp_secret is not None:
            return self._off_page(request, person)
        return self._on_page(request, person, self._kit.sessions.second_factor.new_secret())

    async def switch_on(self, request: Request) -> Response:
        form = await read_form(request)
        person = await self._kit.find_person(request)
        if person is None:
            return see_other(self._kit.login_url(FACTOR_PATH))
        secret = form.get("secret")
        if person.user.totp_secret is not None or not is_secret(secret):
            return see_other(FACTOR_PATH)
        if not is_of_this_browser(form, person.form_token):
            return self._on_page(request, person, secret, 400, "login.stale")
        outcome = await self._kit.sessions.switch_on_second_factor(person, secret, form.get("code"), address_of(request))
        if not isinstance(outcome, Entered):
            return self._on_page(request, person, secret, 403, "code.wrong")
        response = see_other(f"{ACCOUNT_PATH}?done=second_factor_on")
        self._kit.give_session(response, outcome)
        return response

    async def switch_off(self, request: Request) -> Response:
        form = await read_form(request)
        person = await self._kit.find_person(request)
        if person is None:
            return see_other(self._kit.login_url(FACTOR_PATH))
        if not is_of_this_browser(form, person.form_token):
            return self._off_page(request, person, 400, "login.stale")
        refused = await self._kit.sessions.confirm_password(person, form.get("current"), address_of(request))
        if isinstance(refused, SlowDown):
            return self._off_page(request, person, 429, wait=refused.seconds)
        if refused is not None:
            return self._off_page(request, person, 403, "password.wrong")
        if not await self._kit.sessions.switch_off_second_factor(person, address_of(request)):
            return self._off_page(request, person, 403)
        return see_other(f"{ACCOUNT_PATH}?done=second_factor_off")

    def _on_page(
        self, request: Request, person: LoggedIn, secret: str, status: int = 200, problem: str | None = None
    ) -> Response:
        uri = self._kit.sessions.second_factor.enrolment_uri(secret, person.user.email)
        return self._kit.render(
            request,
            "set_up.html",
            person=person,
            status=status,
            action=f"{FACTOR_PATH}/on",
            demanded=False,
            enrolment=enrolment(uri, secret),
            problem=problem,
        )

    def _off_page(
        self,
        request: Request,
        person: LoggedIn,
        status: int = 200,
        problem: str | None = None,
        wait: int | None = None,
    ) -> Response:
        return self._kit.render(
            request,
            "switch_off.html",
            person=person,
            status=status,
            headers={} if wait is None else {"retry-after": str(wait)},
            problem=problem,
            wait=wait,
            demanded=self._kit.sessions.second_factor_required,
        )
