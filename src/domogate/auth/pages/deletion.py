"""The page on which people delete their own account (Decision 0078)."""

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.forms import address_of
from domogate.auth.pages.browser import COOKIE, is_own_form, read_form
from domogate.auth.pages.context import ACCOUNT_PATH, PageContext
from domogate.auth.routing import route_by_method
from domogate.ports import MailKind
from domogate.services.people import Actor, LoggedIn, LoginThrottled
from domogate.services.refusals import Conflict, NotFound

DELETION_PATH = f"{ACCOUNT_PATH}/delete"


class DeletionPages:
    """/auth/account/delete"""

    def __init__(self, context: PageContext) -> None:
        self._context = context

    def routes(self) -> list[Route]:
        return [route_by_method(DELETION_PATH, get=self.show, post=self.delete)]

    async def show(self, request: Request) -> Response:
        person = await self._context.find_person(request)
        return self._context.to_login(request) if person is None else await self._page(request, person)

    async def delete(self, request: Request) -> Response:
        form = await read_form(request)
        person = await self._context.find_person(request)
        if person is None:
            return self._context.to_login(request)
        if not is_own_form(form, person.form_token):
            return await self._page(request, person, 400, {"": "login.stale"})
        refused = await self._context.sessions.confirm_password(person, form.get("current"), address_of(request))
        if isinstance(refused, LoginThrottled):
            return await self._page(request, person, 429, wait=refused.seconds)
        if refused is not None:
            return await self._page(request, person, 403, {"current": "password.wrong"})
        try:
            await self._context.people.delete_user(person.user.id, by=Actor(person.user.id, address_of(request)))
        except Conflict:
            return await self._page(request, person, 409)
        except NotFound:
            pass  # The account was deleted at the same time.
        response = self._context.render(
            request, "account_deleted.html", language=self._context.language_for(request, person=person)
        )
        self._context.cookies.remove(response, COOKIE)
        response.background = BackgroundTask(self._context.people.notify, person.user, MailKind.ACCOUNT_DELETED)
        return response

    async def _page(
        self,
        request: Request,
        person: LoggedIn,
        status: int = 200,
        problems: dict[str, str] | None = None,
        wait: int | None = None,
    ) -> Response:
        return self._context.render(
            request,
            "delete_account.html",
            person=person,
            status=status,
            wait=wait,
            problems=problems or {},
            owned=await self._context.people.list_owned_plants(person.user.id),
            last_operator=await self._is_last_operator(person),
        )

    async def _is_last_operator(self, person: LoggedIn) -> bool:
        if not person.user.operator:
            return False
        users = await self._context.store.list_users()
        return not any(user.operator and user.id != person.user.id for user in users)
