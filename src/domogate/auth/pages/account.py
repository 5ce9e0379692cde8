"""The account page: tasks that are due, applications, webhooks, homes, sessions, and links to the security pages."""

from collections.abc import Iterator, Sequence

import msgspec
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.pages.browser import COOKIE
from domogate.auth.pages.consent import GroupRows, describe_scopes
from domogate.auth.pages.context import ACCOUNT_PATH
from domogate.auth.pages.language import Language
from domogate.auth.pages.logged_in import FormRefused, LoggedInPages, Visit, done
from domogate.auth.pages.profile import LANGUAGE_NAMES
from domogate.auth.pages.rendering import host_of
from domogate.auth.redirects import see_other
from domogate.auth.routing import route_by_method
from domogate.common.user_agents import Agent, describe_agent
from domogate.domain.ids import DASHED_UUID, Id
from domogate.domain.people import Grant, User
from domogate.domain.plants import Plant
from domogate.domain.webhooks import EndReason
from domogate.services.audit import AuditAction, AuditResult
from domogate.services.authorization.scopes import is_about_plants
from domogate.services.people import LoggedIn
from domogate.services.refusals import Refused
from domogate.services.rights.access import list_own_plants

NOTICES = frozenset(
    (
        "revoked",
        "ended",
        "left",
        "joined",
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


class Application(msgspec.Struct, frozen=True):
    """An application to which the person gave one or more grants."""

    client_id: str
    name: str
    accesses: tuple["ApplicationAccess", ...]
    since: float


class ApplicationAccess(msgspec.Struct, frozen=True):
    """The scopes that an application has, and the homes for which it has them."""

    groups: list[GroupRows]
    about_plants: bool
    plants: tuple[str, ...] | None
    """Names of the homes. None means all homes, including homes that the person gets later."""


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
    """A browser in which the person is logged in. `here` is true for the browser that shows the page."""

    id: Id
    agent: Agent
    address: str
    seen_at: float
    here: bool


class AccountPages(LoggedInPages):
    """The account page at /auth/account, and its actions."""

    def routes(self) -> list[Route]:
        leave = route_by_method(
            f"{ACCOUNT_PATH}/plants/leave", get=self.shown(self.ask_to_leave), post=self.posted(self.leave_plant)
        )
        return [
            Route(ACCOUNT_PATH, self.shown(self.show), methods=["GET"]),
            self.action(f"{ACCOUNT_PATH}/applications/revoke", self.revoke),
            self.action(f"{ACCOUNT_PATH}/sessions/end", self.end_session),
            self.action(f"{ACCOUNT_PATH}/webhooks/end", self.end_webhook),
            leave,
            self.action(f"{ACCOUNT_PATH}/logout", self.log_out),
        ]

    async def show(self, visit: Visit, _refused: FormRefused | None) -> Response:
        user, language = visit.user, self._language_of(visit)
        plants = await self._plants_of(user)
        return self._render(
            visit,
            "account.html",
            language=language,
            languages=LANGUAGE_NAMES,
            notice=visit.notice_of(NOTICES),
            now=self._context.clock.now(),
            applications=await self._applications_of(user, plants, language),
            webhooks=await self._webhooks_of(user),
            sessions=await self._sessions_of(visit.person),
            own_plants=[plant for plant in plants if plant.owner.user_id == user.id],
            shared_plants=[plant for plant in plants if plant.owner.user_id != user.id],
            has_terms=self._context.terms is not None,
            has_passkeys=self._context.passkeys is not None,
            codes_left=await self._context.sessions.count_recovery_codes(user) if user.has_second_factor else 0,
        )

    async def revoke(self, visit: Visit) -> Response:
        client_id = visit.form.get("client_id")
        # Refuse an empty id: it would remove all applications.
        if client_id:
            await self._context.people.revoke_grants(visit.user.id, client_id, by=visit.actor)
        return done("revoked")

    async def end_session(self, visit: Visit) -> Response:
        if visit.form.get("others"):
            await self._context.sessions.end_others(visit.person, visit.address)
            await self._context.end_webhooks(visit.request, visit.user.id, visit.form, EndReason.LOGGED_OUT)
        else:
            session_id = DASHED_UUID.parse_id(visit.form.get("session_id"))
            if session_id is not None:
                await self._context.sessions.end(visit.person, session_id, visit.address)
        return done("ended")

    async def end_webhook(self, visit: Visit) -> Response:
        webhook_id = DASHED_UUID.parse_id(visit.form.get("webhook_id"))
        if webhook_id is not None:
            user_id, reason = visit.user.id, EndReason.ON_ACCOUNT_PAGE
            await self._context.webhooks.end(user_id, reason, webhook_id=webhook_id, address=visit.address)
        return done("webhook")

    async def ask_to_leave(self, visit: Visit, _refused: FormRefused | None) -> Response:
        plant = await self._find_shared(visit)
        return see_other(ACCOUNT_PATH) if plant is None else self._render(visit, "leave_plant.html", plant=plant)

    async def leave_plant(self, visit: Visit) -> Response:
        plant = await self._find_shared(visit)
        if plant is not None:
            try:
                await self._context.people.leave_plant(plant.id, visit.user.id, address=visit.address)
            except Refused:
                return see_other(ACCOUNT_PATH)  # The membership was withdrawn at the same time: show the current state.
        return done("left")

    async def log_out(self, visit: Visit) -> Response:
        await self._context.sessions.log_out(visit.request.cookies.get(COOKIE))
        self._context.sessions.note(AuditAction.LOGOUT, visit.user.id, "account page", AuditResult.OK, visit.address)
        response = self._context.render(visit.request, "logged_out.html", language=self._language_of(visit), client=None)
        self._context.cookies.remove(response, COOKIE)
        return response

    # --- what the page shows ------------------------------------------------------------------------------------------

    async def _applications_of(self, user: User, plants: Sequence[Plant], language: Language) -> list[Application]:
        grants = await self._context.store.list_grants(user.id)
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

    async def _webhooks_of(self, user: User) -> list[WebhookRow]:
        webhooks = await self._context.webhooks.list_active_of(user.id)
        clients = {client.id: client.name for client in await self._context.store.list_clients()} if webhooks else {}
        plants, _ = await self._context.store.list_plants_of(user.id)
        names = {plant.id: plant.name for plant in plants}
        return [
            WebhookRow(
                it.id, names.get(it.plant_id, ""), clients.get(it.client_id) or it.client_id, host_of(it.url), it.created_at
            )
            for it in webhooks
        ]

    async def _sessions_of(self, person: LoggedIn) -> list[SessionRow]:
        """Return the person's sessions. The session of this browser is first.

        The other sessions follow, sorted by their last use: the most recently used session comes first.
        """
        sessions = await self._context.sessions.list_of(person.user)
        rows = [
            SessionRow(it.id, describe_agent(it.agent), it.address, it.seen_at, it.id == person.session.id) for it in sessions
        ]
        return sorted(rows, key=lambda row: not row.here)

    async def _plants_of(self, user: User) -> Sequence[Plant]:
        plants, _ = await self._context.store.list_plants_of(user.id)
        return list_own_plants(plants, user.id, None, self._context.clock.now()).plants

    async def _find_shared(self, visit: Visit) -> Plant | None:
        """Return the home that the request names, if its owner shares it with the person. Otherwise return None."""
        plant_id = DASHED_UUID.parse_id(visit.get("plant"))
        plants = await self._plants_of(visit.user)
        return next((it for it in plants if it.id == plant_id and it.owner.user_id != visit.user.id), None)


def _describe_accesses(grants: Sequence[Grant], plants: Sequence[Plant], language: Language) -> Iterator[ApplicationAccess]:
    """Yield one entry for each set of homes. Grants for the same homes share an entry."""
    scopes: dict[frozenset[Id] | None, dict[str, None]] = {}
    for grant in grants:
        scopes.setdefault(grant.plants, {}).update(dict.fromkeys(grant.scopes))
    for chosen, granted in scopes.items():
        named = None if chosen is None else tuple(plant.name for plant in plants if plant.id in chosen)
        yield ApplicationAccess(describe_scopes(language, granted), is_about_plants(granted), named)
