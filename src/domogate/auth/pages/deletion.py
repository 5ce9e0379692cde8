"""The page on which people delete their own account (Decision 0078)."""

from starlette.background import BackgroundTask
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.pages.browser import COOKIE
from domogate.auth.pages.context import ACCOUNT_PATH
from domogate.auth.pages.logged_in import FormRefused, LoggedInPages, PasswordAgain, Visit
from domogate.domain.people import User
from domogate.ports import MailKind
from domogate.services.refusals import Conflict, NotFound

DELETION_PATH = f"{ACCOUNT_PATH}/delete"


class DeletionPages(LoggedInPages):
    """The page at /auth/account/delete, on which people delete their own accounts."""

    def routes(self) -> list[Route]:
        return [self.form(DELETION_PATH, self.show, self.delete, PasswordAgain.ALWAYS)]

    async def show(self, visit: Visit, refused: FormRefused | None) -> Response:
        owned = await self._context.people.list_owned_plants(visit.user.id)
        last_operator = await self._is_last_operator(visit.user)
        return self._render(visit, "delete_account.html", refused, owned=owned, last_operator=last_operator)

    async def delete(self, visit: Visit) -> Response:
        try:
            await self._context.people.delete_user(visit.user.id, by=visit.actor)
        except Conflict:
            raise FormRefused(409) from None
        except NotFound:
            pass  # The account was deleted at the same time.
        response = self._context.render(visit.request, "account_deleted.html", language=self._language_of(visit))
        self._context.cookies.remove(response, COOKIE)
        response.background = BackgroundTask(self._context.people.notify, visit.user, MailKind.ACCOUNT_DELETED)
        return response

    async def _is_last_operator(self, person: User) -> bool:
        if not person.operator:
            return False
        users = await self._context.store.list_users()
        return not any(user.operator and user.id != person.id for user in users)
