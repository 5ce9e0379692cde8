"""What every group of pages works with."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol
from urllib.parse import parse_qs, urlencode, urlsplit

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from domogate.auth.pages.browser import (
    COOKIE,
    HALF_WAY_COOKIE,
    VISIT_COOKIE,
    Cookies,
    new_visit,
    parse_return_to,
    visit_token,
)
from domogate.auth.pages.language import Language, choose_language
from domogate.auth.pages.rendering import Renderer, form_target
from domogate.domain.ids import Id
from domogate.domain.people import User
from domogate.ports import ClientStore, Clock, GrantStore, PeopleStore, PlantStore, SessionStore
from domogate.services.people.people import Actor, IssuedLink
from domogate.services.people.sessions import Entered, LoggedIn, Sessions, form_token_of

LOGIN_PATH = "/auth/login"
ACCOUNT_PATH = "/auth/account"

Endpoint = Callable[[Request], Awaitable[Response]]


class PageStore(PeopleStore, ClientStore, GrantStore, SessionStore, PlantStore, Protocol):
    """What the pages show of a person."""


class PeopleService(Protocol):
    """What people do to their own accounts. Each raises `services.refusals.Refused`."""

    async def set_password(
        self, user_id: Id, password: str, *, instead_of: str | None = ..., keep_session: Id | None = ..., address: str = ...
    ) -> User: ...
    async def redeem_link(self, token: str, password: str, *, address: str = "") -> User: ...
    async def issue_password_link(self, user_id: Id, *, by: Actor = ...) -> IssuedLink: ...
    async def accept_terms(self, user_id: Id, *, address: str = "") -> User: ...
    async def leave_plant(self, plant_id: Id, user_id: Id, *, address: str = "") -> None: ...
    async def revoke_grants(self, user_id: Id, client_id: str | None = None, *, by: Actor = ...) -> int: ...


class PageContext(msgspec.Struct, frozen=True):
    """Shared by the groups of pages."""

    sessions: Sessions
    store: PageStore
    people: PeopleService
    clock: Clock
    renderer: Renderer
    cookies: Cookies
    terms_url: str | None = None
    mails_links: bool = False
    """Whether there is mail by which a link reaches a person who is not logged in."""

    async def find_person(self, request: Request) -> LoggedIn | None:
        return await self.sessions.find(request.cookies.get(COOKIE))

    def language_for(self, request: Request, return_to: str | None = None) -> Language:
        query = parse_qs(urlsplit(return_to).query) if return_to else {}
        locales = request.query_params.get("ui_locales") or " ".join(query.get("ui_locales", ()))
        return choose_language(request, locales)

    async def targets_of(self, return_to: str | None) -> tuple[str, ...]:
        """Where the application that sent somebody here wants them back: forms on the way there end up at it."""
        if return_to is None:
            return ()
        query = parse_qs(urlsplit(return_to).query)
        client_id, wanted = "".join(query.get("client_id", ())), "".join(query.get("redirect_uri", ()))
        client = await self.store.find_client(client_id) if client_id else None
        if client is None:
            return ()
        return self.targets_for(client.redirect_uris, wanted)

    def targets_for(self, registered: tuple[str, ...], wanted: str) -> tuple[str, ...]:
        uris = [uri for uri in registered if _same_host(uri, wanted)] if wanted else list(registered)
        # The port of a loopback address is the application's to choose at the last moment (RFC 8252 §7.3).
        target = form_target(wanted or uris[0]) if uris else None
        return () if target is None else (target,)

    def render(
        self,
        request: Request,
        template: str,
        *,
        language: Language | None = None,
        return_to: str | None = None,
        person: LoggedIn | None = None,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        form_targets: tuple[str, ...] = (),
        **values: Any,
    ) -> Response:
        """A page for `person`; without one, for a browser in which nobody is logged in, whose forms need a token too."""
        visit: str | None = None
        token = person.form_token if person is not None else values.pop("form_token", "") or visit_token(request)
        if not token:
            visit = new_visit()
            token = form_token_of(visit)
        response = self.renderer.page(
            request,
            template,
            language or self.language_for(request, return_to),
            status=status,
            headers=dict(headers or {}),
            form_targets=form_targets,
            form_token=token,
            return_to=return_to,
            person=person,
            **values,
        )
        if visit is not None:
            self.cookies.set(response, VISIT_COOKIE, visit)
        return response

    def enter(self, entered: Entered, return_to: str | None) -> Response:
        """Into the account, or on to where the person was going."""
        response = see_other(return_to or ACCOUNT_PATH)
        self.give_session(response, entered)
        return response

    def give_session(self, response: Response, entered: Entered) -> None:
        self.cookies.set(response, COOKIE, entered.cookie, self.sessions.lifetime)
        self.cookies.remove(response, HALF_WAY_COOKIE)

    def login_url(self, return_to: str | None, **query: str | None) -> str:
        asked = {"return_to": parse_return_to(return_to), **query}
        given = {name: value for name, value in asked.items() if value}
        return f"{LOGIN_PATH}?{urlencode(given)}" if given else LOGIN_PATH

    def to_login(self, request: Request) -> Response:
        """For a page of the account that somebody opened without being logged in."""
        return see_other(self.login_url(request.url.path if request.method == "GET" else ACCOUNT_PATH))


def page_at(path: str, *, get: Endpoint, post: Endpoint) -> Route:
    """One route for both methods, so that 405 names both."""

    async def serve(request: Request) -> Response:
        return await (post if request.method == "POST" else get)(request)

    return Route(path, serve, methods=["GET", "POST"])


def see_other(url: str) -> Response:
    """Load this next, with GET: nothing is sent again when the person goes back."""
    return RedirectResponse(url, 303, {"cache-control": "no-store", "referrer-policy": "no-referrer"})


def _same_host(one: str, other: str) -> bool:
    try:
        first, second = urlsplit(one), urlsplit(other)
    except ValueError:  # brackets that hold no address
        return False
    return (first.scheme, first.hostname) == (second.scheme, second.hostname)
