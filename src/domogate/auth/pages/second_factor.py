"""Pages to switch the authenticator app on and off."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.forms import address_of
from domogate.auth.pages.browser import read_form
from domogate.auth.pages.context import ACCOUNT_PATH, PageContext
from domogate.auth.pages.enrolment import build_enrolment
from domogate.auth.redirects import see_other
from domogate.services.people import LoggedIn, LoginComplete, is_secret

FACTOR_PATH = f"{ACCOUNT_PATH}/second-factor"


class SecondFactorPages:
    """/auth/account/second-factor"""

    def __init__(self, context: PageContext) -> None:
        self._context = context

    def routes(self) -> list[Route]:
        return [
            Route(FACTOR_PATH, self.show, methods=["GET"]),
            Route(f"{FACTOR_PATH}/on", self.switch_on, methods=["POST"]),
            Route(f"{FACTOR_PATH}/off", self.switch_off, methods=["POST"]),
        ]

    async def show(self, request: Request) -> Response:
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
        refused = await self._context.find_refusal(request, person, form)
        if refused is not None:
            return self._switch_on_page(request, person, secret, **refused)
        outcome = await self._context.sessions.switch_on_second_factor(person, secret, form.get("code"), address_of(request))
        if not isinstance(outcome, LoginComplete):
            return self._switch_on_page(request, person, secret, status=403, problem="code.wrong")
        response = await self._context.recovery_codes_page(request, outcome.person, f"{ACCOUNT_PATH}?done=second_factor_on")
        self._context.set_session(response, outcome)
        return response

    async def switch_off(self, request: Request) -> Response:
        form = await read_form(request)
        person = await self._context.find_person(request)
        if person is None:
            return see_other(self._context.login_url(FACTOR_PATH))
        refused = await self._context.find_refusal(request, person, form)
        if refused is not None:
            return self._switch_off_page(request, person, **refused)
        if not await self._context.sessions.switch_off_second_factor(person, address_of(request)):
            return self._switch_off_page(request, person, status=403)
        return see_other(f"{ACCOUNT_PATH}?done=second_factor_off")

    def _switch_on_page(
        self, request: Request, person: LoggedIn, secret: str, *, problem: str | None = None, **values: Any
    ) -> Response:
        return self._context.render(
            request,
            "set_up.html",
            person=person,
            action=f"{FACTOR_PATH}/on",
            demanded=False,
            asks_password=not self._context.sessions.is_recent(person),
            enrolment=build_enrolment(self._context.sessions.second_factor, secret, person.user.email),
            problem=problem,
            **values,
        )

    def _switch_off_page(self, request: Request, person: LoggedIn, *, problem: str | None = None, **values: Any) -> Response:
        return self._context.render(
            request,
            "switch_off.html",
            person=person,
            problem=problem,
            demanded=self._context.sessions.second_factor_required and not person.user.has_passkey,
            asks_password=not self._context.sessions.is_recent(person),
            **values,
        )
