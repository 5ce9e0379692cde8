"""The account page: due tasks, applications, webhooks, homes, sessions, and links to the security pages."""

from collections.abc import Awaitable, Callable, Iterator, Sequence

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.forms import address_of
from domogate.auth.pages.browser import COOKIE, Form, is_own_form, read_form
from domogate.auth.pages.consent import GroupRows, describe_scopes
from domogate.auth.pages.context import ACCOUNT_PATH, PageContext
from domogate.auth.pages.language import Language
from domogate.auth.pages.profile import LANGUAGE_NAMES
from domogate.auth.pages.rendering import host_of
from domogate.auth.pages.user_agents import Agent, describe_agent
from domogate.auth.redirects import see_other
from domogate.auth.routing import Endpoint, route_by_method
from domogate.domain.ids import DASHED_UUID, Id
from domogate.domain.people import Grant
from domogate.domain.plants import Plant
from domogate.services.audit import AuditAction, AuditResult
from domogate.services.authorization.scopes import is_about_plants
from domogate.services.people import Actor, LoggedIn
from domogate.services.refusals import Refused
from domogate.services.rights.access import list_own_plants

NOTICES = frozenset(
    (
        "revoked",
        "ended",
        "left",
        "password",
        "profile",
        "email",
        "terms",
        "second_factor_on",
        "second_factor_off",
        "stale",
        "webhook",
    )
)


Action = Callable[[Request, LoggedIn, Form], Awaitable[Response]]


class Application(msgspec.Struct, frozen=True):
    """An application to which the person gave one or more grants."""

    client_id: str
    name: str
    accesses: tuple["ApplicationAccess", ...]
    since: float


class ApplicationAccess(msgspec.Struct, frozen=True):
    """The scopes that an application has for the same homes."""

    groups: list[GroupRows]
    about_plants: bool
    plants: tuple[str, ...] | None
    """Names of the homes. None means all homes, also homes that the person gets later."""


class WebhookRow(msgspec.Struct, frozen=True):
    """A webhook for a home of the person.

    Only the host of the URL is shown: the rest of the URL may be a secret of the application.
    """

    id: Id
    plant: str
    client: str
    host: str
    since: float


class SessionRow(msgspec.Struct, frozen=True):
    """A browser in which the person is logged in."""

    id: Id
    agent: Agent
    address: str
    seen_at: float
    here: bool


class AccountPages:
    """/auth/account and its actions."""

    def __init__(self, context: PageContext) -> None:
        self._context = context

    def routes(self) -> list[Route]:
        return [
            Route(ACCOUNT_PATH, self.show, methods=["GET"]),
            self._action("applications/revoke", self.revoke),
            self._action("sessions/end", self.end_session),
            self._action("webhooks/end", self.end_webhook),
            route_by_method(f"{ACCOUNT_PATH}/plants/leave", get=self.ask_to_leave, post=self._checked(self.leave_plant)),
            self._action("logout", self.log_out),
        ]

    def _action(self, path: str, act: Action) -> Route:
        return Route(f"{ACCOUNT_PATH}/{path}", self._checked(act), methods=["POST"])

    def _checked(self, act: Action) -> Endpoint:
        """Calls `act` only if the person is logged in and the form comes from a page in this browser."""

        async def serve(request: Request) -> Response:
            form = await read_form(request)
            person = await self._context.find_person(request)
            if person is None:
                return see_other(ACCOUNT_PATH)
            return await act(request, person, form) if is_own_form(form, person.form_token) else _done("stale")

        return serve

    async def show(self, request: Request) -> Response:
        person = await self._context.find_person(request)
        if person is None:
            return self._context.to_login(request)
        language = self._context.language_for(request, person=person)
        plants = await self._plants_of(person)
        notice = request.query_params.get("done", "")
        return self._context.render(
            request,
            "account.html",
            language=language,
            languages=LANGUAGE_NAMES,
            person=person,
            notice=notice if notice in NOTICES else None,
            now=self._context.clock.now(),
            applications=await self._applications_of(person, plants, language),
            webhooks=await self._webhooks_of(person),
            sessions=await self._sessions_of(person),
            own_plants=[plant for plant in plants if plant.owner.user_id == person.user.id],
            shared_plants=[plant for plant in plants if plant.owner.user_id != person.user.id],
            has_terms=self._context.terms is not None,
            has_passkeys=self._context.passkeys is not None,
            codes_left=await self._context.sessions.count_recovery_codes(person.user) if person.user.has_second_factor else 0,
        )

    async def revoke(self, request: Request, person: LoggedIn, form: Form) -> Response:
        client_id = form.get("client_id")
        # Refuse an empty id: it would remove all applications.
        if client_id:
            by = Actor(person.user.id, address_of(request))
            await self._context.people.revoke_grants(person.user.id, client_id, by=by)
        return _done("revoked")

    async def end_session(self, request: Request, person: LoggedIn, form: Form) -> Response:
        if form.get("others"):
            await self._context.sessions.end_others(person, address_of(request))
            await self._context.end_webhooks(request, person.user.id, form, "The user logged out everywhere.")
        else:
            session_id = DASHED_UUID.parse_id(form.get("session_id"))
            if session_id is not None:
                await self._context.sessions.end(person, session_id, address_of(request))
        return _done("ended")

    async def end_webhook(self, request: Request, person: LoggedIn, form: Form) -> Response:
        webhook_id = DASHED_UUID.parse_id(form.get("webhook_id"))
        if webhook_id is not None:
            reason = "The user ended it on the account page."
            await self._context.webhooks.end(person.user.id, reason, webhook_id=webhook_id, address=address_of(request))
        return _done("webhook")

    async def ask_to_leave(self, request: Request) -> Response:
        person = await self._context.find_person(request)
        if person is None:
            return see_other(self._context.login_url(ACCOUNT_PATH))
        plant = await self._find_shared(person, request.query_params.get("plant", ""))
        if plant is None:
            return see_other(ACCOUNT_PATH)
        return self._context.render(request, "leave_plant.html", person=person, plant=plant)

    async def leave_plant(self, request: Request, person: LoggedIn, form: Form) -> Response:
        plant = await self._find_shared(person, form.get("plant"))
        if plant is not None:
            try:
                await self._context.people.leave_plant(plant.id, person.user.id, address=address_of(request))
            except Refused:
                return see_other(ACCOUNT_PATH)  # The membership was withdrawn at the same time: show the current state.
        return _done("left")

    async def log_out(self, request: Request, person: LoggedIn, _form: Form) -> Response:
        await self._context.sessions.log_out(request.cookies.get(COOKIE))
        self._context.sessions.note(AuditAction.LOGOUT, person.user.id, "account page", AuditResult.OK, address_of(request))
        response = self._context.render(request, "logged_out.html", client=None)
        self._context.cookies.remove(response, COOKIE)
        return response

    # --- what the page shows ------------------------------------------------------------------------------------------

    async def _applications_of(self, person: LoggedIn, plants: Sequence[Plant], language: Language) -> list[Application]:
        grants = await self._context.store.list_grants(person.user.id)
        names = {client.id: client.name for client in await self._context.store.list_clients()} if grants else {}
        by_client: dict[str, list[Grant]] = {}
        for grant in grants:
            by_client.setdefault(grant.client_id, []).append(grant)
        return [
            Application(
                client_id,
                names.get(client_id) or client_id,
                tuple(_describe_accesses(theirs, plants, language)),
                min(grant.created_at for grant in theirs),
            )
            for client_id, theirs in by_client.items()
        ]

    async def _webhooks_of(self, person: LoggedIn) -> list[WebhookRow]:
        webhooks = await self._context.webhooks.list_active_of(person.user.id)
        clients = {client.id: client.name for client in await self._context.store.list_clients()} if webhooks else {}
        plants, _ = await self._context.store.list_plants_of(person.user.id)
        names = {plant.id: plant.name for plant in plants}
        return [
            WebhookRow(
                it.id, names.get(it.plant_id, ""), clients.get(it.client_id) or it.client_id, host_of(it.url), it.created_at
            )
            for it in webhooks
        ]

    async def _sessions_of(self, person: LoggedIn) -> list[SessionRow]:
        """The session of this browser first, then the most recently used sessions."""
        sessions = await self._context.sessions.list_of(person.user)
        rows = [
            SessionRow(it.id, describe_agent(it.agent), it.address, it.seen_at, it.id == person.session.id) for it in sessions
        ]
        return sorted(rows, key=lambda row: not row.here)

    async def _plants_of(self, person: LoggedIn) -> Sequence[Plant]:
        plants, _ = await self._context.store.list_plants_of(person.user.id)
        return list_own_plants(plants, person.user.id, None, self._context.clock.now()).plants

    async def _find_shared(self, person: LoggedIn, text: str) -> Plant | None:
        plant_id: Id | None = DASHED_UUID.parse_id(text)
        plants = await self._plants_of(person)
        return next((it for it in plants if it.id == plant_id and it.owner.user_id != person.user.id), None)


def _describe_accesses(grants: Sequence[Grant], plants: Sequence[Plant], language: Language) -> Iterator[ApplicationAccess]:
    """Yield one entry for all grants that are for the same homes."""
    scopes: dict[frozenset[Id] | None, dict[str, None]] = {}
    for grant in grants:
        scopes.setdefault(grant.plants, {}).update(dict.fromkeys(grant.scopes))
    for chosen, granted in scopes.items():
        named = None if chosen is None else tuple(plant.name for plant in plants if plant.id in chosen)
        yield ApplicationAccess(describe_scopes(language, granted), is_about_plants(granted), named)


def _done(what: str) -> Response:
    return see_other(f"{ACCOUNT_PATH}?done={what}")
