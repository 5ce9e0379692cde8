"""Logging in: the password, and then the second factor where there is one or one is demanded."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.pages.browser import (
    COOKIE,
    HALF_WAY_COOKIE,
    LONGEST_EMAIL,
    Form,
    address_of,
    agent_of,
    is_of_this_browser,
    parse_return_to,
    read_form,
    visit_token,
)
from domogate.auth.pages.context import ACCOUNT_PATH, LOGIN_PATH, PageContext, page_at, see_other
from domogate.auth.pages.qr import enrolment
from domogate.services.people.second_factor import is_secret
from domogate.services.people.sessions import Entered, HalfWay, SecondFactorNeeded, SlowDown

CODE_PATH = f"{LOGIN_PATH}/code"
SET_UP_PATH = f"{LOGIN_PATH}/set-up"


class Login:
    """/auth/login, /auth/login/code, /auth/login/set-up"""

    def __init__(self, kit: PageContext) -> None:
        self._kit = kit

    def routes(self) -> list[Route]:
        return [
            page_at(LOGIN_PATH, get=self.show, post=self.log_in),
            page_at(CODE_PATH, get=self.show_code, post=self.enter_code),
            page_at(SET_UP_PATH, get=self.show_set_up, post=self.set_up),
        ]

    # --- the password -------------------------------------------------------------------------------------------------

    async def show(self, request: Request) -> Response:
        return_to = parse_return_to(request.query_params.get("return_to"))
        person = await self._kit.find_person(request)
        if person is not None and return_to is None:
            return see_other(ACCOUNT_PATH)
        # Whoever is sent here although logged in is to prove again that it is them (prompt=login, max_age), or is
        # somebody else.
        known = "" if person is None or "switch" in request.query_params else person.user.email
        email = request.query_params.get("login_hint", known)[:LONGEST_EMAIL]
        return await self._page(request, return_to, email=email, again=bool(known) and email == known)

    async def log_in(self, request: Request) -> Response:
        form = await read_form(request)
        return_to = parse_return_to(form.get("return_to"))
        email, password = form.get("email")[:LONGEST_EMAIL].strip(), form.get("password")
        if not is_of_this_browser(form, visit_token(request)):
            return await self._page(request, return_to, 400, email=email, problem="login.stale")
        if not email or not password:
            return await self._page(request, return_to, 400, email=email, problem="login.empty")
        outcome = await self._kit.sessions.log_in(
            email, password, None, address_of(request), agent_of(request), replaces=request.cookies.get(COOKIE)
        )
        if isinstance(outcome, Entered):
            return self._kit.enter(outcome, return_to)
        if isinstance(outcome, SecondFactorNeeded):
            path = SET_UP_PATH if outcome.set_up else CODE_PATH
            response = see_other(self._with_return(path, return_to))
            self._kit.cookies.set(response, HALF_WAY_COOKIE, outcome.cookie)
            return response
        if isinstance(outcome, SlowDown):
            return await self._page(request, return_to, 429, email=email, wait=outcome.seconds)
        return await self._page(request, return_to, 403, email=email, problem="login.wrong")

    async def _page(
        self,
        request: Request,
        return_to: str | None,
        status: int = 200,
        *,
        email: str = "",
        again: bool = False,
        problem: str | None = None,
        wait: int | None = None,
    ) -> Response:
        return self._kit.render(
            request,
            "login.html",
            return_to=return_to,
            form_targets=await self._kit.targets_of(return_to),
            status=status,
            headers=_retry_after(wait),
            email=email,
            again=again,
            problem=problem,
            wait=wait,
        )

    # --- the second factor --------------------------------------------------------------------------------------------

    async def show_code(self, request: Request) -> Response:
        return_to = parse_return_to(request.query_params.get("return_to"))
        half_way = await self._find_half_way(request)
        if half_way is None or half_way.set_up:
            return see_other(self._kit.login_url(return_to))
        return await self._code_page(request, half_way, return_to)

    async def enter_code(self, request: Request) -> Response:
        form = await read_form(request)
        return_to = parse_return_to(form.get("return_to"))
        half_way = await self._find_half_way(request)
        if half_way is None or half_way.set_up:
            return await self._page(request, return_to, 400, problem="login.stale")
        if not is_of_this_browser(form, half_way.form_token):
            return await self._code_page(request, half_way, return_to, 400, problem="login.stale")
        outcome = await self._kit.sessions.enter_code(
            half_way, form.get("code"), address_of(request), agent_of(request), replaces=request.cookies.get(COOKIE)
        )
        if isinstance(outcome, Entered):
            return self._kit.enter(outcome, return_to)
        if isinstance(outcome, SlowDown):
            return await self._code_page(request, half_way, return_to, 429, wait=outcome.seconds)
        return await self._code_page(request, half_way, return_to, 403, problem="code.wrong")

    async def _code_page(
        self,
        request: Request,
        half_way: HalfWay,
        return_to: str | None,
        status: int = 200,
        *,
        problem: str | None = None,
        wait: int | None = None,
    ) -> Response:
        return self._kit.render(
            request,
            "code.html",
            return_to=return_to,
            form_targets=await self._kit.targets_of(return_to),
            status=status,
            headers=_retry_after(wait),
            form_token=half_way.form_token,
            email=half_way.user.email,
            problem=problem,
            wait=wait,
        )

    # --- a second factor that is demanded and not there yet -----------------------------------------------------------

    async def show_set_up(self, request: Request) -> Response:
        return_to = parse_return_to(request.query_params.get("return_to"))
        half_way = await self._find_half_way(request)
        if half_way is None or not half_way.set_up:
            return see_other(self._kit.login_url(return_to))
        secret = self._kit.sessions.second_factor.new_secret()
        return await self._set_up_page(request, half_way, return_to, secret)

    async def set_up(self, request: Request) -> Response:
        form: Form = await read_form(request)
        return_to = parse_return_to(form.get("return_to"))
        half_way = await self._find_half_way(request)
        secret = form.get("secret")
        if half_way is None or not half_way.set_up or not is_secret(secret):
            return await self._page(request, return_to, 400, problem="login.stale")
        if not is_of_this_browser(form, half_way.form_token):
            return await self._set_up_page(request, half_way, return_to, secret, 400, "login.stale")
        outcome = await self._kit.sessions.set_up_half_way(
            half_way, secret, form.get("code"), address_of(request), agent_of(request), replaces=request.cookies.get(COOKIE)
        )
        if isinstance(outcome, Entered):
            return self._kit.enter(outcome, return_to)
        return await self._set_up_page(request, half_way, return_to, secret, 403, "code.wrong")

    async def _set_up_page(
        self,
        request: Request,
        half_way: HalfWay,
        return_to: str | None,
        secret: str,
        status: int = 200,
        problem: str | None = None,
    ) -> Response:
        uri = self._kit.sessions.second_factor.enrolment_uri(secret, half_way.user.email)
        return self._kit.render(
            request,
            "set_up.html",
            return_to=return_to,
            form_targets=await self._kit.targets_of(return_to),
            status=status,
            form_token=half_way.form_token,
            action=SET_UP_PATH,
            demanded=True,
            enrolment=enrolment(uri, secret),
            problem=problem,
        )

    # --- within -------------------------------------------------------------------------------------------------------

    async def _find_half_way(self, request: Request) -> HalfWay | None:
        return await self._kit.sessions.find_half_way(request.cookies.get(HALF_WAY_COOKIE))

    def _with_return(self, path: str, return_to: str | None) -> str:
        return self._kit.login_url(return_to).replace(LOGIN_PATH, path, 1)


def _retry_after(wait: int | None) -> dict[str, str]:
    return {} if wait is None else {"retry-after": str(wait)}
