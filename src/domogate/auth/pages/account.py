"""The account home: what standing wants, applications, sessions, plants, and the way to security."""

from collections.abc import Sequence

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.pages.browser import COOKIE, Form, address_of, is_of_this_browser, read_form
from domogate.auth.pages.context import ACCOUNT_PATH, PageContext, page_at, see_other
from domogate.auth.pages.language import Language
from domogate.auth.pages.user_agents import Agent, describe_agent
from domogate.domain.ids import DASHED_UUID, Id
from domogate.domain.people import MANAGE_SCOPE, Grant, Scope
from domogate.domain.plants import Plant
from domogate.services.audit.log import AuditAction, AuditResult
from domogate.services.people.people import Actor
from domogate.services.people.sessions import LoggedIn
from domogate.services.refusals import Refused
from domogate.services.rights.access import list_own_plants

_NOTICES = frozenset(("revoked", "ended", "left", "password", "terms", "second_factor_on", "second_factor_off", "stale"))


class Application(msgspec.Struct, frozen=True):
    """A client the person has let in, by one or more grants."""

    client_id: str
    name: str
    scopes: tuple[str, ...]
    since: float


class SessionRow(msgspec.Struct, frozen=True):
    """A browser in which the person is logged in, as they recognise it."""

    id: Id
    agent: Agent
    address: str
    seen_at: float
    here: bool


class Account:
    """/auth/account and what is done there."""

    def __init__(self, kit: PageContext) -> None:
        self._kit = kit

    def routes(self) -> list[Route]:
        return [
            Route(ACCOUNT_PATH, self.show, methods=["GET"]),
            Route(f"{ACCOUNT_PATH}/applications/revoke", self.revoke, methods=["POST"]),
            Route(f"{ACCOUNT_PATH}/sessions/end", self.end_session, methods=["POST"]),
            page_at(f"{ACCOUNT_PATH}/plants/leave", get=self.ask_to_leave, post=self.leave_plant),
            Route(f"{ACCOUNT_PATH}/terms", self.accept_terms, methods=["POST"]),
            Route(f"{ACCOUNT_PATH}/logout", self.log_out, methods=["POST"]),
        ]

    async def show(self, request: Request) -> Response:
        person = await self._kit.find_person(request)
        if person is None:
            return self._kit.to_login(request)
        language = self._kit.language_for(request)
        plants = await self._plants_of(person)
        notice = request.query_params.get("done", "")
        return self._kit.render(
            request,
            "account.html",
            language=language,
            person=person,
            notice=notice if notice in _NOTICES else None,
            now=self._kit.clock.now(),
            applications=await self._applications_of(person),
            scope_words=lambda scope: scope_words(language, scope),
            sessions=await self._sessions_of(person),
            own_plants=[plant for plant in plants if plant.owner.user_id == person.user.id],
            shared_plants=[plant for plant in plants if plant.owner.user_id != person.user.id],
            terms_url=self._kit.terms_url,
            second_factor_required=self._kit.sessions.second_factor_required,
        )

    async def revoke(self, request: Request) -> Response:
        person, form = await self._act(request)
        if person is None:
            return see_other(ACCOUNT_PATH)
        if form is None:
            return _done("stale")
        client_id = form.get("client_id")
        # Never with an empty id: that would throw out all of them.
        if client_id:
            await self._kit.people.revoke_grants(person.user.id, client_id, by=Actor(person.user.id, address_of(request)))
        return _done("revoked")

    async def end_session(self, request: Request) -> Response:
        person, form = await self._act(request)
        if person is None:
            return see_other(ACCOUNT_PATH)
        if form is None:
            return _done("stale")
        if form.get("others"):
            await self._kit.sessions.end_others(person, address_of(request))
        else:
            session_id = DASHED_UUID.parse_id(form.get("session_id"))
            if session_id is not None:
                await self._kit.sessions.end(person, session_id, address_of(request))
        return _done("ended")

    async def ask_to_leave(self, request: Request) -> Response:
        person = await self._kit.find_person(request)
        if person is None:
            return see_other(self._kit.login_url(ACCOUNT_PATH))
        plant = await self._find_shared(person, request.query_params.get("plant", ""))
        if plant is None:
            return see_other(ACCOUNT_PATH)
        return self._kit.render(request, "leave_plant.html", person=person, plant=plant)

    async def leave_plant(self, request: Request) -> Response:
        person, form = await self._act(request)
        if person is None:
            return see_other(ACCOUNT_PATH)
        if form is None:
            return _done("stale")
        plant = await self._find_shared(person, form.get("plant"))
        if plant is not None:
            try:
                await self._kit.people.leave_plant(plant.id, person.user.id, address=address_of(request))
            except Refused:
                return see_other(ACCOUNT_PATH)  # they were withdrawn at the same moment: the page shows how it is now
        return _done("left")

    async def accept_terms(self, request: Request) -> Response:
        person, form = await self._act(request)
        if person is None:
            return see_other(ACCOUNT_PATH)
        if form is None or form.get("accept") != "yes":
            return _done("stale")
        await self._kit.people.accept_terms(person.user.id, address=address_of(request))
        return _done("terms")

    async def log_out(self, request: Request) -> Response:
        person, form = await self._act(request)
        if person is None:
            return see_other(ACCOUNT_PATH)
        if form is None:
            return _done("stale")
        await self._kit.sessions.log_out(request.cookies.get(COOKIE))
        self._kit.sessions.note(AuditAction.LOGOUT, person.user.id, "account page", AuditResult.OK, address_of(request))
        response = self._kit.render(request, "logged_out.html", client=None)
        self._kit.cookies.remove(response, COOKIE)
        return response

    # --- within -------------------------------------------------------------------------------------------------------

    async def _act(self, request: Request) -> tuple[LoggedIn | None, Form | None]:
        """Who does it, and the form if it is really theirs."""
        form = await read_form(request)
        person = await self._kit.find_person(request)
        if person is None:
            return None, None
        return person, form if is_of_this_browser(form, person.form_token) else None

    async def _applications_of(self, person: LoggedIn) -> list[Application]:
        grants = await self._kit.store.list_grants(person.user.id)
        names = {client.id: client.name for client in await self._kit.store.list_clients()} if grants else {}
        by_client: dict[str, list[Grant]] = {}
        for grant in grants:
            by_client.setdefault(grant.client_id, []).append(grant)
        return [
            Application(
                client_id,
                names.get(client_id) or client_id,
                tuple(dict.fromkeys(scope for grant in theirs for scope in grant.scopes)),
                min(grant.created_at for grant in theirs),
            )
            for client_id, theirs in by_client.items()
        ]

    async def _sessions_of(self, person: LoggedIn) -> list[SessionRow]:
        """This browser's first, then the most recently seen."""
        sessions = await self._kit.sessions.list_of(person.user)
        rows = [
            SessionRow(it.id, describe_agent(it.agent), it.address, it.seen_at, it.id == person.session.id) for it in sessions
        ]
        return sorted(rows, key=lambda row: not row.here)

    async def _plants_of(self, person: LoggedIn) -> Sequence[Plant]:
        plants, _ = await self._kit.store.list_plants_of(person.user.id)
        return list_own_plants(plants).plants

    async def _find_shared(self, person: LoggedIn, text: str) -> Plant | None:
        plant_id: Id | None = DASHED_UUID.parse_id(text)
        plants = await self._plants_of(person)
        return next((it for it in plants if it.id == plant_id and it.owner.user_id != person.user.id), None)


def scope_words(language: Language, scope: str) -> tuple[str, str, bool]:
    """A title, what it means, and whether it can make something happen at home."""
    if not language.has(f"scopes.{scope}.title"):
        return scope, "", False
    return language.say(f"scopes.{scope}.title"), language.say(f"scopes.{scope}.about"), scope in _ACTING


_ACTING = frozenset(
    (
        *(Scope.PLUG_WRITE, Scope.SCENE_LAUNCH, Scope.SCENE_WRITE, Scope.LIGHT_WRITE, Scope.COMFORT_WRITE),
        *(Scope.AUDIOVIDEO_READ, MANAGE_SCOPE),
    )
)


def _done(what: str) -> Response:
    return see_other(f"{ACCOUNT_PATH}?done={what}")
