"""Pages to list, add, rename and remove passkeys. The script `passkeys.js` asks the browser for a new passkey."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.forms import address_of
from domogate.auth.pages.browser import Form, agent_of, is_own_form, read_form
from domogate.auth.pages.context import ACCOUNT_PATH, PageContext
from domogate.auth.pages.user_agents import describe_agent
from domogate.auth.redirects import see_other
from domogate.auth.routing import route_by_method
from domogate.domain.formats import NAME_LENGTH
from domogate.domain.ids import DASHED_UUID
from domogate.domain.passkeys import MOST_PASSKEYS, Passkey
from domogate.services.people import Actor, LoggedIn, LoginComplete, LoginExpired, LoginFailed
from domogate.services.refusals import Invalid, NotFound

PASSKEYS_PATH = f"{ACCOUNT_PATH}/passkeys"
NOTICES = frozenset(("added", "renamed", "removed"))


class PasskeyPages:
    """/auth/account/passkeys"""

    def __init__(self, context: PageContext) -> None:
        self._context = context

    def routes(self) -> list[Route]:
        return [
            route_by_method(PASSKEYS_PATH, get=self.show, post=self.add),
            route_by_method(f"{PASSKEYS_PATH}/change", get=self.show_one, post=self.rename),
            Route(f"{PASSKEYS_PATH}/remove", self.remove, methods=["POST"]),
        ]

    async def show(self, request: Request) -> Response:
        person = await self._context.find_person(request)
        return self._context.to_login(request) if person is None else await self._list_page(request, person)

    async def add(self, request: Request) -> Response:
        form = await read_form(request)
        person = await self._context.find_person(request)
        passkeys = self._context.passkeys
        if person is None or passkeys is None:
            return see_other(PASSKEYS_PATH)
        refused = await self._context.find_refusal(request, person, form)
        name = form.get("name").strip()
        if refused is not None:
            return await self._list_page(request, person, name, **refused)
        if not name:
            return await self._list_page(request, person, name, status=400, problem="passkeys.problem_name")
        try:
            outcome = await passkeys.add(person, form.get("answer"), name, address_of(request))
        except Invalid:
            return await self._list_page(request, person, name, status=400, problem="passkeys.problem_name")
        if isinstance(outcome, LoginExpired):
            return await self._list_page(request, person, name, status=400, problem="login.stale")
        if isinstance(outcome, LoginFailed):
            return await self._list_page(request, person, name, status=403, problem="passkeys.problem_new")
        if not isinstance(outcome, LoginComplete):
            return _done("added")
        # This is the first second factor: the person needs recovery codes in case the device is lost.
        response = await self._context.recovery_codes_page(request, outcome.person, f"{PASSKEYS_PATH}?done=added")
        self._context.set_session(response, outcome)
        return response

    async def show_one(self, request: Request) -> Response:
        person = await self._context.find_person(request)
        if person is None:
            return see_other(self._context.login_url(PASSKEYS_PATH))
        passkey = await self._find(person, request.query_params.get("passkey", ""))
        return see_other(PASSKEYS_PATH) if passkey is None else self._one_page(request, person, passkey)

    async def rename(self, request: Request) -> Response:
        found = await self._find_posted(request)
        if found is None:
            return see_other(PASSKEYS_PATH)
        person, form, passkey = found
        if not is_own_form(form, person.form_token):
            return self._one_page(request, person, passkey, status=400, problem="login.stale")
        name = form.get("name").strip()
        try:
            if not name:
                raise Invalid("The name is empty.")
            await self._context.people.rename_passkey(person.user.id, passkey.id, name, by=_actor(request, person))
        except Invalid:
            return self._one_page(request, person, passkey, status=400, problem="passkeys.problem_name")
        except NotFound:  # Another request removed the passkey.
            return see_other(PASSKEYS_PATH)
        return _done("renamed")

    async def remove(self, request: Request) -> Response:
        found = await self._find_posted(request)
        if found is None:
            return see_other(PASSKEYS_PATH)
        person, form, passkey = found
        refused = await self._context.find_refusal(request, person, form)
        if refused is not None:
            return self._one_page(request, person, passkey, **refused)
        if await self._is_needed(person):
            return await self._list_page(request, person, status=403, problem="passkeys.problem_needed")
        try:
            await self._context.people.remove_passkey(person.user.id, passkey.id, by=_actor(request, person))
        except NotFound:
            return see_other(PASSKEYS_PATH)
        return _done("removed")

    # --- private ------------------------------------------------------------------------------------------------------

    async def _is_needed(self, person: LoggedIn) -> bool:
        """Whether this is the only second factor of the person, and the gateway requires a second factor."""
        if not self._context.sessions.second_factor_required or person.user.totp_secret is not None:
            return False
        return len(await self._context.store.list_passkeys(person.user.id)) == 1

    async def _find(self, person: LoggedIn, text: str) -> Passkey | None:
        passkey_id = DASHED_UUID.parse_id(text)
        return next((it for it in await self._context.store.list_passkeys(person.user.id) if it.id == passkey_id), None)

    async def _find_posted(self, request: Request) -> tuple[LoggedIn, Form, Passkey] | None:
        form = await read_form(request)
        person = await self._context.find_person(request)
        passkey = None if person is None else await self._find(person, form.get("passkey"))
        return None if person is None or passkey is None else (person, form, passkey)

    async def _list_page(
        self, request: Request, person: LoggedIn, name: str = "", *, problem: str | None = None, **values: Any
    ) -> Response:
        known = await self._context.store.list_passkeys(person.user.id)
        passkeys = self._context.passkeys
        notice = request.query_params.get("done", "")
        return self._context.render(
            request,
            "passkeys.html",
            person=person,
            problem=problem,
            notice=notice if notice in NOTICES else None,
            now=self._context.clock.now(),
            passkeys=known,
            name=name,
            agent=describe_agent(agent_of(request)),
            longest_name=NAME_LENGTH,
            is_full=len(known) >= MOST_PASSKEYS,
            asks_password=not self._context.sessions.is_recent(person),
            passkey_options=None if passkeys is None else await passkeys.ask_for_new(person),
            **values,
        )

    def _one_page(
        self, request: Request, person: LoggedIn, passkey: Passkey, *, problem: str | None = None, **values: Any
    ) -> Response:
        return self._context.render(
            request,
            "passkey.html",
            person=person,
            problem=problem,
            passkey=passkey,
            longest_name=NAME_LENGTH,
            asks_password=not self._context.sessions.is_recent(person),
            **values,
        )


def _actor(request: Request, person: LoggedIn) -> Actor:
    return Actor(person.user.id, address_of(request))


def _done(what: str) -> Response:
    return see_other(f"{PASSKEYS_PATH}?done={what}")
