"""The page to change the password. The person must enter the password again."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.forms import address_of
from domogate.auth.pages.browser import is_own_form, read_form
from domogate.auth.pages.context import ACCOUNT_PATH, PageContext
from domogate.auth.pages.new_passwords import find_flaw
from domogate.auth.redirects import see_other
from domogate.auth.routing import route_by_method
from domogate.domain.passwords import PASSWORD_LENGTH
from domogate.services.people import LoggedIn, LoginThrottled
from domogate.services.refusals import Conflict, Refused

PASSWORD_PATH = f"{ACCOUNT_PATH}/password"


class PasswordPages:
    """/auth/account/password"""

    def __init__(self, context: PageContext) -> None:
        self._context = context

    def routes(self) -> list[Route]:
        return [route_by_method(PASSWORD_PATH, get=self.show_password, post=self.change_password)]

    async def show_password(self, request: Request) -> Response:
        person = await self._context.find_person(request)
        return self._context.to_login(request) if person is None else await self._password_page(request, person)

    async def change_password(self, request: Request) -> Response:
        form = await read_form(request)
        person = await self._context.find_person(request)
        if person is None:
            return self._context.to_login(request)
        if not is_own_form(form, person.form_token):
            return await self._password_page(request, person, 400, {"": "login.stale"})
        current, password = form.get("current"), form.get("password")
        refused = await self._context.sessions.confirm_password(person, current, address_of(request))
        if isinstance(refused, LoginThrottled):
            return await self._password_page(request, person, 429, wait=refused.seconds)
        if refused is not None:
            return await self._password_page(request, person, 403, {"current": "password.wrong"})
        flaw = find_flaw(password, form.get("repeated"), person.user.email, current=current)
        if flaw is not None:
            return await self._password_page(request, person, 400, dict([flaw]))
        try:
            await self._context.people.set_password(
                person.user.id,
                password,
                instead_of=person.user.password_hash,
                keep_session=person.session.id,
                address=address_of(request),
            )
        except Conflict:
            return self._context.to_login(request)  # Another request changed the password and ended this session.
        except Refused:
            return await self._password_page(request, person, 400, {"password": "password.refused"})
        await self._context.end_webhooks(request, person.user.id, form, "The user chose a new password.")
        return see_other(f"{ACCOUNT_PATH}?done=password")

    async def _password_page(
        self,
        request: Request,
        person: LoggedIn,
        status: int = 200,
        problems: dict[str, str] | None = None,
        wait: int | None = None,
    ) -> Response:
        """`problems` has the key of a text for each wrong field."""
        return self._context.render(
            request,
            "password.html",
            person=person,
            status=status,
            wait=wait,
            problems=problems or {},
            shortest=PASSWORD_LENGTH[0],
            has_webhooks=bool(await self._context.webhooks.list_active_of(person.user.id)),
        )
