"""The page to make new recovery codes, for a person with a second factor."""

from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.pages.context import ACCOUNT_PATH
from domogate.auth.pages.logged_in import FormRefused, LoggedInPages, PasswordAgain, Visit
from domogate.auth.redirects import see_other

CODES_PATH = f"{ACCOUNT_PATH}/recovery-codes"


class RecoveryCodePages(LoggedInPages):
    """The page at /auth/account/recovery-codes, on which people make new recovery codes."""

    def routes(self) -> list[Route]:
        return [self.form(CODES_PATH, self.show, self.renew, PasswordAgain.UNLESS_RECENT)]

    async def show(self, visit: Visit, refused: FormRefused | None) -> Response:
        if not visit.user.has_second_factor:
            return see_other(ACCOUNT_PATH)
        codes_left = await self._context.sessions.count_recovery_codes(visit.user)
        return self._render(visit, "renew_codes.html", refused, codes_left=codes_left)

    async def renew(self, visit: Visit) -> Response:
        if not visit.user.has_second_factor:
            return see_other(ACCOUNT_PATH)
        return await self._context.recovery_codes_page(visit.request, visit.person, ACCOUNT_PATH)
