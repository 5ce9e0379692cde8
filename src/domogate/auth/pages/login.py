"""The login pages.

A person logs in with the password, or with only a passkey. After the password, the pages ask for a second factor if the person
has one or the gateway requires one.
"""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.forms import address_of
from domogate.auth.pages.browser import (
    COOKIE,
    LONGEST_EMAIL,
    PENDING_COOKIE,
    VISIT_COOKIE,
    agent_of,
    is_own_form,
    new_visit,
    parse_return_to,
    read_form,
    visit_token,
)
from domogate.auth.pages.context import ACCOUNT_PATH, CODE_PATH, LOGIN_PATH, SET_UP_PATH, PageGroup
from domogate.auth.pages.enrolment import build_enrolment
from domogate.auth.redirects import see_other
from domogate.auth.routing import route_by_method
from domogate.services.people import (
    LoginComplete,
    LoginExpired,
    LoginFailed,
    LoginThrottled,
    PendingLogin,
    SecondFactorNeeded,
    form_token_of,
    is_secret,
)


class LoginPages(PageGroup):
    """The pages at /auth/login, on which a person logs in, enters the second factor, or sets up a second factor."""

    def routes(self) -> list[Route]:
        return [
            route_by_method(LOGIN_PATH, get=self.show, post=self.log_in),
            Route(f"{LOGIN_PATH}/passkey", self.log_in_by_passkey, methods=["POST"]),
            route_by_method(CODE_PATH, get=self.show_code, post=self.enter_code),
            Route(f"{CODE_PATH}/passkey", self.use_passkey, methods=["POST"]),
            route_by_method(SET_UP_PATH, get=self.show_set_up, post=self.set_up),
        ]

    # --- password -----------------------------------------------------------------------------------------------------

    async def show(self, request: Request) -> Response:
        return_to = parse_return_to(request.query_params.get("return_to"))
        person = await self._context.find_person(request)
        if person is not None and return_to is None:
            return see_other(ACCOUNT_PATH)
        # A person who is logged in comes here to authenticate again (prompt=login, max_age) or to change the account.
        known = "" if person is None or "switch" in request.query_params else person.user.email
        email = request.query_params.get("login_hint", known)[:LONGEST_EMAIL]
        return await self._login_page(request, return_to, email=email, again=bool(known) and email == known)

    async def log_in(self, request: Request) -> Response:
        form = await read_form(request)
        return_to = parse_return_to(form.get("return_to"))
        email, password = form.get("email")[:LONGEST_EMAIL].strip(), form.get("password")
        if not is_own_form(form, visit_token(request)):
            return await self._login_page(request, return_to, 400, email=email, problem="login.stale")
        if not email or not password:
            return await self._login_page(request, return_to, 400, email=email, problem="login.empty")
        outcome = await self._context.sessions.log_in(
            email, password, None, address_of(request), agent_of(request), replaces=request.cookies.get(COOKIE)
        )
        if isinstance(outcome, LoginComplete):
            return await self._context.finish_login(request, outcome, return_to)
        if isinstance(outcome, SecondFactorNeeded):
            return self._context.ask_second_factor(outcome, return_to)
        if isinstance(outcome, LoginThrottled):
            return await self._login_page(request, return_to, 429, email=email, wait=outcome.seconds)
        return await self._login_page(request, return_to, 403, email=email, problem="login.wrong")

    async def log_in_by_passkey(self, request: Request) -> Response:
        form = await read_form(request)
        return_to = parse_return_to(form.get("return_to"))
        passkeys = self._context.passkeys
        if passkeys is None or not is_own_form(form, visit_token(request)):
            return await self._login_page(request, return_to, 400, problem="login.stale")
        outcome = await passkeys.log_in(
            form.get("answer"),
            visit_token(request),
            address_of(request),
            agent_of(request),
            replaces=request.cookies.get(COOKIE),
        )
        if isinstance(outcome, LoginComplete):
            return await self._context.finish_login(request, outcome, return_to)
        return await self._login_page(request, return_to, **_passkey_problem(outcome))

    async def _login_page(
        self, request: Request, return_to: str | None, status: int = 200, *, email: str = "", again: bool = False, **values: Any
    ) -> Response:
        if self._context.passkeys is None:
            return await self._page(request, "login.html", return_to, status, email=email, again=again, **values)
        visit = request.cookies.get(VISIT_COOKIE) or new_visit()
        form_token = form_token_of(visit)
        values |= {"form_token": form_token, "passkey_options": await self._context.passkeys.ask_for_any(form_token)}
        response = await self._page(request, "login.html", return_to, status, email=email, again=again, **values)
        self._context.cookies.set(response, VISIT_COOKIE, visit)
        return response

    async def _page(
        self,
        request: Request,
        template: str,
        return_to: str | None,
        status: int,
        *,
        problem: str | None = None,
        wait: int | None = None,
        **values: Any,
    ) -> Response:
        """Render a login page. `problem` is the key of the text that explains the problem."""
        client, targets = await self._context.find_application(return_to)
        return self._context.render(
            request,
            template,
            return_to=return_to,
            form_targets=targets,
            application=None if client is None else client.name,
            status=status,
            wait=wait,
            problem=problem,
            **values,
        )

    # --- second factor ------------------------------------------------------------------------------------------------

    async def show_code(self, request: Request) -> Response:
        return_to = parse_return_to(request.query_params.get("return_to"))
        pending = await self._find_pending(request, set_up=False)
        if pending is None:
            return see_other(self._context.login_url(return_to))
        return await self._code_page(request, pending, return_to)

    async def enter_code(self, request: Request) -> Response:
        form = await read_form(request)
        return_to = parse_return_to(form.get("return_to"))
        pending = await self._find_pending(request, set_up=False)
        if pending is None:
            return await self._login_page(request, return_to, 400, problem="login.stale")
        if not is_own_form(form, pending.form_token):
            return await self._code_page(request, pending, return_to, 400, problem="login.stale")
        code = form.get("code") or form.get("recovery")
        outcome = await self._context.sessions.enter_code(
            pending, code, address_of(request), agent_of(request), replaces=request.cookies.get(COOKIE)
        )
        if isinstance(outcome, LoginComplete):
            return await self._context.finish_login(request, outcome, return_to)
        if isinstance(outcome, LoginThrottled):
            return await self._code_page(request, pending, return_to, 429, wait=outcome.seconds)
        return await self._code_page(request, pending, return_to, 403, problem="code.wrong")

    async def use_passkey(self, request: Request) -> Response:
        form = await read_form(request)
        return_to = parse_return_to(form.get("return_to"))
        pending = await self._find_pending(request, set_up=False)
        passkeys = self._context.passkeys
        if pending is None or passkeys is None:
            return await self._login_page(request, return_to, 400, problem="login.stale")
        if not is_own_form(form, pending.form_token):
            return await self._code_page(request, pending, return_to, 400, problem="login.stale")
        outcome = await passkeys.complete(
            pending, form.get("answer"), address_of(request), agent_of(request), replaces=request.cookies.get(COOKIE)
        )
        if isinstance(outcome, LoginComplete):
            return await self._context.finish_login(request, outcome, return_to)
        return await self._code_page(request, pending, return_to, **_passkey_problem(outcome))

    async def _code_page(
        self, request: Request, pending: PendingLogin, return_to: str | None, status: int = 200, **values: Any
    ) -> Response:
        user, passkeys = pending.user, self._context.passkeys
        return await self._page(
            request,
            "code.html",
            return_to,
            status,
            form_token=pending.form_token,
            email=user.email,
            has_app=user.totp_secret is not None,
            passkey_options=await passkeys.ask_for_one_of(pending) if passkeys is not None and user.has_passkey else None,
            **values,
        )

    # --- setting up a second factor that the gateway requires ----------------------------------------------------------

    async def show_set_up(self, request: Request) -> Response:
        return_to = parse_return_to(request.query_params.get("return_to"))
        pending = await self._find_pending(request, set_up=True)
        if pending is None:
            return see_other(self._context.login_url(return_to))
        secret = self._context.sessions.second_factor.new_secret()
        return await self._set_up_page(request, pending, return_to, secret)

    async def set_up(self, request: Request) -> Response:
        form = await read_form(request)
        return_to = parse_return_to(form.get("return_to"))
        pending = await self._find_pending(request, set_up=True)
        secret = form.get("secret")
        if pending is None or not is_secret(secret):
            return await self._login_page(request, return_to, 400, problem="login.stale")
        if not is_own_form(form, pending.form_token):
            return await self._set_up_page(request, pending, return_to, secret, 400, "login.stale")
        outcome = await self._context.sessions.set_up_pending(
            pending, secret, form.get("code"), address_of(request), agent_of(request), replaces=request.cookies.get(COOKIE)
        )
        if isinstance(outcome, LoginComplete):
            response = await self._context.recovery_codes_page(request, outcome.person, return_to or ACCOUNT_PATH)
            self._context.set_session(response, outcome)
            return response
        return await self._set_up_page(request, pending, return_to, secret, 403, "code.wrong")

    async def _set_up_page(
        self,
        request: Request,
        pending: PendingLogin,
        return_to: str | None,
        secret: str,
        status: int = 200,
        problem: str | None = None,
    ) -> Response:
        enrolment = build_enrolment(self._context.sessions.second_factor, secret, pending.user.email)
        return await self._page(
            request,
            "set_up.html",
            return_to,
            status,
            form_token=pending.form_token,
            action=SET_UP_PATH,
            demanded=True,
            asks_password=False,
            enrolment=enrolment,
            problem=problem,
        )

    async def _find_pending(self, request: Request, *, set_up: bool) -> PendingLogin | None:
        """Return the login of this browser that waits for the second factor, or None if there is none.

        If `set_up` is true, return instead the login that waits until the person has set up a second factor.
        """
        pending = await self._context.sessions.find_pending(request.cookies.get(PENDING_COOKIE))
        return pending if pending is not None and pending.set_up is set_up else None


def _passkey_problem(outcome: LoginFailed | LoginExpired | LoginThrottled) -> dict[str, Any]:
    """Return the arguments with which a login page tells the person why the login with a passkey failed."""
    if isinstance(outcome, LoginThrottled):
        return {"status": 429, "wait": outcome.seconds}
    if isinstance(outcome, LoginExpired):
        return {"status": 400, "problem": "login.stale"}
    return {"status": 403, "problem": "passkey.wrong"}
