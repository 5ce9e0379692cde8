"""Pages to list, add, rename and remove passkeys. The script `passkeys.js` asks the browser for a new passkey."""

from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.pages.browser import agent_of
from domogate.auth.pages.context import ACCOUNT_PATH
from domogate.auth.pages.logged_in import FormRefused, LoggedInPages, PasswordAgain, Visit, done
from domogate.auth.redirects import see_other
from domogate.common.user_agents import describe_agent
from domogate.domain.formats import NAME_LENGTH
from domogate.domain.ids import DASHED_UUID
from domogate.domain.passkeys import MOST_PASSKEYS, Passkey
from domogate.domain.people import User
from domogate.services.people import LoginComplete, LoginExpired, LoginFailed
from domogate.services.refusals import Invalid, NotFound

PASSKEYS_PATH = f"{ACCOUNT_PATH}/passkeys"
NOTICES = frozenset(("added", "renamed", "removed"))


class PasskeyPages(LoggedInPages):
    """The pages at /auth/account/passkeys, on which people list, add, rename and remove their passkeys."""

    start = PASSKEYS_PATH

    def routes(self) -> list[Route]:
        again = PasswordAgain.UNLESS_RECENT
        return [
            self.form(PASSKEYS_PATH, self.show, self.add, again),
            self.form(f"{PASSKEYS_PATH}/change", self.show_one, self.rename),
            self.action(f"{PASSKEYS_PATH}/remove", self.remove, self.show_one, again),
        ]

    async def show(self, visit: Visit, refused: FormRefused | None) -> Response:
        known = await self._context.store.list_passkeys(visit.user.id)
        passkeys = self._context.passkeys
        return self._render(
            visit,
            "passkeys.html",
            refused,
            notice=visit.notice_of(NOTICES),
            now=self._context.clock.now(),
            passkeys=known,
            name=visit.form.get("name").strip(),
            agent=describe_agent(agent_of(visit.request)),
            longest_name=NAME_LENGTH,
            is_full=len(known) >= MOST_PASSKEYS,
            passkey_options=None if passkeys is None else await passkeys.ask_for_new(visit.person),
        )

    async def add(self, visit: Visit) -> Response:
        passkeys = self._context.passkeys
        if passkeys is None:
            return see_other(PASSKEYS_PATH)
        try:
            outcome = await passkeys.add(visit.person, visit.form.get("answer"), _read_name(visit), visit.address)
        except Invalid:
            raise FormRefused(400, {"name": "passkeys.problem_name"}) from None
        if isinstance(outcome, LoginExpired):
            raise FormRefused(400, {"": "login.stale"})
        if isinstance(outcome, LoginFailed):
            raise FormRefused(403, {"": "passkeys.problem_new"})
        if not isinstance(outcome, LoginComplete):
            return done("added", PASSKEYS_PATH)
        # The person had no second factor before, so the person now needs recovery codes, in case the device is lost.
        then = f"{PASSKEYS_PATH}?done=added"
        response = await self._context.recovery_codes_page(visit.request, outcome.person, then)
        self._context.set_session(response, outcome)
        return response

    async def show_one(self, visit: Visit, refused: FormRefused | None) -> Response:
        passkey = await self._find(visit)
        if passkey is None:
            return see_other(PASSKEYS_PATH)
        return self._render(visit, "passkey.html", refused, passkey=passkey, longest_name=NAME_LENGTH)

    async def rename(self, visit: Visit) -> Response:
        passkey = await self._find(visit)
        if passkey is None:
            return see_other(PASSKEYS_PATH)
        try:
            await self._context.people.rename_passkey(visit.user.id, passkey.id, _read_name(visit), by=visit.actor)
        except Invalid:
            raise FormRefused(400, {"name": "passkeys.problem_name"}) from None
        except NotFound:  # Another request removed the passkey.
            return see_other(PASSKEYS_PATH)
        return done("renamed", PASSKEYS_PATH)

    async def remove(self, visit: Visit) -> Response:
        passkey = await self._find(visit)
        if passkey is None:
            return see_other(PASSKEYS_PATH)
        if await self._is_needed(visit.user):
            return await self.show(visit, FormRefused(403, {"": "passkeys.problem_needed"}))
        try:
            await self._context.people.remove_passkey(visit.user.id, passkey.id, by=visit.actor)
        except NotFound:
            return see_other(PASSKEYS_PATH)
        return done("removed", PASSKEYS_PATH)

    # --- private ------------------------------------------------------------------------------------------------------

    async def _is_needed(self, user: User) -> bool:
        """Whether the person must keep the last passkey: a second factor is required, and the person has no other second
        factor.
        """
        if not self._context.sessions.second_factor_required or user.totp_secret is not None:
            return False
        return len(await self._context.store.list_passkeys(user.id)) == 1

    async def _find(self, visit: Visit) -> Passkey | None:
        passkey_id = DASHED_UUID.parse_id(visit.get("passkey"))
        return next((it for it in await self._context.store.list_passkeys(visit.user.id) if it.id == passkey_id), None)


def _read_name(visit: Visit) -> str:
    """Return the name in the form. Raises Invalid for an empty name: on this page the person must choose a name."""
    name = visit.form.get("name").strip()
    if not name:
        raise Invalid("The name is empty.")
    return name
