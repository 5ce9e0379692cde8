"""The services, the rendering, the cookies and the redirect to the login that all groups of pages share."""

from typing import Any, Protocol
from urllib.parse import parse_qs, urlencode, urlsplit

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from domogate.auth.forms import address_of
from domogate.auth.pages.browser import (
    COOKIE,
    PENDING_COOKIE,
    VISIT_COOKIE,
    Cookies,
    Form,
    agent_of,
    new_visit,
    parse_return_to,
    visit_token,
)
from domogate.auth.pages.language import Language, choose_language
from domogate.auth.pages.rendering import Renderer, form_target
from domogate.auth.redirects import see_other
from domogate.domain.ids import Id
from domogate.domain.languages import DEFAULT_LANGUAGE
from domogate.domain.people import Client, User
from domogate.domain.terms import Terms
from domogate.domain.webhooks import EndReason
from domogate.ports import ClientStore, Clock, GrantStore, PasskeyStore, PeopleStore, PlantStore, SessionStore
from domogate.services.people import (
    LoggedIn,
    LoginComplete,
    LoginThrottle,
    Passkeys,
    People,
    SecondFactorNeeded,
    Sessions,
    form_token_of,
)
from domogate.services.webhooks.administration import WebhookAdministration

AUTHORIZE_PATH = "/auth/authorize"
LOGIN_PATH = "/auth/login"
CODE_PATH = f"{LOGIN_PATH}/code"
SET_UP_PATH = f"{LOGIN_PATH}/set-up"
ACCOUNT_PATH = "/auth/account"
KEPT_IN_A_QUERY = "%/?&=:;,+$@!*'()~-._"
"""The special characters that are not percent-encoded in `return_to`: a path with its query."""


class PageStore(PeopleStore, PasskeyStore, ClientStore, GrantStore, SessionStore, PlantStore, Protocol):
    """The parts of the store that the pages use."""


class PageContext(msgspec.Struct, frozen=True):
    """The services, cookies and templates that every group of pages uses."""

    sessions: Sessions
    store: PageStore
    people: People
    webhooks: WebhookAdministration
    clock: Clock
    renderer: Renderer
    cookies: Cookies
    terms: Terms | None = None
    mails_links: bool = False
    """Whether a link can be mailed to a person who is not logged in."""
    passkeys: Passkeys | None = None
    """The service for passkeys. None if browsers do not offer passkeys at the URL of this gateway."""
    script_source: str = ""
    """The URL of the script that passkeys need."""
    has_door: bool = False
    """Whether the gateway shows pages at /. If it does, the name of the gateway is a link to these pages."""
    operator_name: str | None = None
    default_language: str = DEFAULT_LANGUAGE

    async def end_webhooks(self, request: Request, user_id: Id, form: Form, reason: EndReason) -> None:
        """Ends the person's webhooks after a new password or a logout everywhere.

        If the person chose to keep the webhooks, none of them ends (Decision 0055).
        """
        if form.get("keep_webhooks") != "yes":
            await self.webhooks.end(user_id, reason, address=address_of(request))

    def throttle_links(self, purpose: str, attempts: int) -> LoginThrottle:
        """Return a throttle for requests for mailed links, and for new accounts by invitation links.

        Its waits are longer than the waits of the throttle for logins. There are two reasons. A mail may go to a stranger. An
        attempt to make an account shows whether a login name is taken.
        """
        return LoginThrottle(
            self.store,
            self.clock,
            purpose=purpose,
            account_attempts=attempts,
            first_wait=60.0,
            longest_wait=3600.0,
            half_life=3600.0,
        )

    async def find_person(self, request: Request) -> LoggedIn | None:
        return await self.sessions.find(request.cookies.get(COOKIE))

    def language_for(self, request: Request, return_to: str | None = None, person: LoggedIn | None = None) -> Language:
        """Return the language that the application asks for.

        If the application asks for none of our languages, return the language that the person chose.

        If the person chose no language, return the language that the browser prefers. If the browser prefers none of our
        languages, return the default language of the gateway.
        """
        query = parse_qs(urlsplit(return_to).query) if return_to else {}
        locales = request.query_params.get("ui_locales") or " ".join(query.get("ui_locales", ()))
        chosen = person.user.language if person is not None else None
        return choose_language(request, locales, chosen, self.default_language)

    async def find_application(self, return_to: str | None) -> tuple[Client | None, tuple[str, ...]]:
        """Return the application that sent the person to the login, and the sites to which forms of the page may redirect.

        The application is None if the person came without an application.
        """
        address = urlsplit(return_to or "")
        if address.path != AUTHORIZE_PATH:
            return None, ()
        query = parse_qs(address.query)
        client_id, wanted = "".join(query.get("client_id", ())), "".join(query.get("redirect_uri", ()))
        client = await self.store.find_client(client_id) if client_id else None
        return (None, ()) if client is None else (client, self.targets_for(client.redirect_uris, wanted))

    def targets_for(self, registered: tuple[str, ...], wanted: str) -> tuple[str, ...]:
        uris = [uri for uri in registered if _same_host(uri, wanted)] if wanted else list(registered)
        # The application chooses the port of a loopback address when it starts (RFC 8252 §7.3).
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
        wait: int | None = None,
        form_targets: tuple[str, ...] = (),
        passkey_options: dict[str, Any] | None = None,
        **values: Any,
    ) -> Response:
        """Render a page for `person`.

        If `person` is None, the form token comes from the visit cookie; a browser without this cookie gets one. `wait` is the
        number of seconds until the next try. `passkey_options` are the options that the script passes to the browser.
        """
        visit: str | None = None
        token = person.form_token if person is not None else values.pop("form_token", "") or visit_token(request)
        if not token:
            visit = new_visit()
            token = form_token_of(visit)
        response = self.renderer.page(
            request,
            template,
            language or self.language_for(request, return_to, person),
            status=status,
            headers={} if wait is None else {"retry-after": str(wait)},
            wait=wait,
            script_source=None if passkey_options is None else self.script_source,
            passkey_options=None if passkey_options is None else msgspec.json.encode(passkey_options).decode(),
            form_targets=form_targets,
            form_token=token,
            brand=self.operator_name or "Domogate",
            has_door=self.has_door,
            return_to=return_to,
            person=person,
            **values,
        )
        if visit is not None:
            self.cookies.set(response, VISIT_COOKIE, visit)
        return response

    async def recovery_codes_page(self, request: Request, person: LoggedIn, then: str) -> Response:
        """Makes new recovery codes and shows them once. `then` is the path at which the person continues."""
        codes = await self.sessions.new_recovery_codes(person.user, address_of(request))
        return self.render(request, "recovery_codes.html", person=person, codes=codes, then=then)

    async def finish_login(self, request: Request, login: LoginComplete, return_to: str | None) -> Response:
        """Redirect to the page that needed the login, or to the account page. The response sets the session cookie."""
        await self.people.remember_page_language(login.person.user, self.language_for(request, return_to).code)
        response = see_other(return_to or ACCOUNT_PATH)
        self.set_session(response, login)
        return response

    async def log_in_after_link(self, request: Request, user: User, password: str) -> Response:
        """Log in with the password that the person has just set by a link.

        After the login, redirect to the console, the homes or the account page. If a second factor is needed, redirect to its
        page first. If too many logins to this account failed before, show a page with a link to the login instead.
        """
        return_to = None if not self.has_door else "/console" if user.operator else "/homes"
        outcome = await self.sessions.log_in(
            user.email, password, None, address_of(request), agent_of(request), replaces=request.cookies.get(COOKIE)
        )
        if isinstance(outcome, LoginComplete):
            return await self.finish_login(request, outcome, return_to)
        if isinstance(outcome, SecondFactorNeeded):
            return self.ask_second_factor(outcome, return_to)
        # Somebody is trying to guess the password of this account, so the person has to wait before the login.
        response = self.render(
            request, "password_is_set.html", user=user, login_url=self.login_url(return_to, login_hint=user.email)
        )
        self.cookies.remove(response, COOKIE)
        return response

    def ask_second_factor(self, needed: SecondFactorNeeded, return_to: str | None) -> Response:
        """Redirect to the page that asks for the second factor, or to the page on which the person must first set one up.

        The response sets a cookie. With this cookie, the next page continues this login.
        """
        path = SET_UP_PATH if needed.set_up else CODE_PATH
        response = see_other(self.login_url(return_to).replace(LOGIN_PATH, path, 1))
        self.cookies.set(response, PENDING_COOKIE, needed.cookie)
        return response

    def set_session(self, response: Response, login: LoginComplete) -> None:
        self.cookies.set(response, COOKIE, login.cookie, self.sessions.lifetime)
        self.cookies.remove(response, PENDING_COOKIE)

    def login_url(self, return_to: str | None, **query: str | None) -> str:
        asked = {"return_to": parse_return_to(return_to), **query}
        given = {name: value for name, value in asked.items() if value}
        return f"{LOGIN_PATH}?{urlencode(given)}" if given else LOGIN_PATH


class PageGroup:
    """Base class of a group of pages that belong together."""

    def __init__(self, context: PageContext) -> None:
        self._context = context


def _same_host(one: str, other: str) -> bool:
    try:
        first, second = urlsplit(one), urlsplit(other)
    except ValueError:  # invalid address in brackets
        return False
    return (first.scheme, first.hostname) == (second.scheme, second.hostname)
