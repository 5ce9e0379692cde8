"""All pages, and what the OAuth endpoints need of them."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.pages.account import Account, scope_words
from domogate.auth.pages.browser import COOKIE, Cookies, is_of_this_browser
from domogate.auth.pages.context import PageContext, PageStore, PeopleService, see_other
from domogate.auth.pages.forgotten_password import Forgotten
from domogate.auth.pages.login import Login
from domogate.auth.pages.password_links import PasswordLinks
from domogate.auth.pages.rendering import STYLE_PATH, Renderer, host_of
from domogate.auth.pages.security import Security
from domogate.domain.people import Client, IdentityScope
from domogate.ports import Clock
from domogate.services.people.sessions import LoggedIn, Sessions

_AUTHORIZE_PATH = "/auth/authorize"
_LOGOUT_PATH = "/auth/logout"
_KEPT_IN_A_QUERY = "%/?&=:;,+$@!*'()~-._"


class Pages:
    """Login, consent, account and error pages."""

    def __init__(
        self,
        sessions: Sessions,
        store: PageStore,
        people: PeopleService,
        clock: Clock,
        *,
        base_url: str,
        secure_cookies: bool | None = None,
        terms_url: str | None = None,
        mails_links: bool = False,
    ) -> None:
        """`secure_cookies`: None is whether `base_url` is https. `mails_links`: whether links reach people by mail."""
        secure = base_url.startswith("https:") if secure_cookies is None else secure_cookies
        self._kit = PageContext(sessions, store, people, clock, Renderer(), Cookies(secure=secure), terms_url, mails_links)

    def routes(self) -> list[Route]:
        kit = self._kit
        groups = (Login(kit), Forgotten(kit), Account(kit), Security(kit), PasswordLinks(kit))
        style = Route(STYLE_PATH, self._kit.renderer.serve_style, methods=["GET"])
        return [style, *(route for group in groups for route in group.routes())]

    def redirect_to_login(self, request: Request, *, return_to: str, login_hint: str | None = None) -> Response:
        """`return_to` is a path under /auth/ with its query; after logging in the person goes on there."""
        locales = request.query_params.get("ui_locales")
        return see_other(
            self._kit.login_url(quote(return_to, safe=_KEPT_IN_A_QUERY), login_hint=login_hint, ui_locales=locales)
        )

    def render_consent(
        self, request: Request, person: LoggedIn, *, client: Client, scopes: Sequence[str], fields: Mapping[str, str]
    ) -> Response:
        """A form that posts `fields`, the ticked `scope`s and `decision` (allow or deny) to /auth/authorize."""
        language = self._kit.language_for(request, f"{_AUTHORIZE_PATH}?{urlencode(fields)}")
        query = request.url.query if request.method == "GET" and request.url.query else urlencode(fields)
        back = fields.get("redirect_uri") or "".join(client.redirect_uris[:1])
        return self._kit.render(
            request,
            "consent.html",
            language=language,
            person=person,
            form_targets=self._kit.targets_for(client.redirect_uris, fields.get("redirect_uri", "")),
            host=host_of(back),
            action=_AUTHORIZE_PATH,
            client=client,
            scopes=[(scope, *scope_words(language, scope), scope == IdentityScope.OPENID) for scope in scopes],
            fields=fields,
            switch_url=self._kit.login_url(quote(f"{_AUTHORIZE_PATH}?{query}", safe=_KEPT_IN_A_QUERY), switch="yes"),
        )

    def check_csrf(self, form: Mapping[str, Any], person: LoggedIn) -> bool:
        """Whether a form that was posted is one that was shown to this person in this browser."""
        return is_of_this_browser(form, person.form_token)

    def render_error(self, request: Request, *, status: int, problem: str, advice: str) -> Response:
        """For the application's developer, who reads it over a person's shoulder. It never leads anywhere."""
        return self._kit.render(request, "error.html", status=status, problem=problem, advice=advice)

    def render_logout(
        self, request: Request, person: LoggedIn, *, client: Client | None = None, fields: Mapping[str, str] | None = None
    ) -> Response:
        """Asks before logging out (RP-Initiated Logout §2): posts `fields` and `decision` (logout or stay) to /auth/logout."""
        fields = fields or {}
        targets: tuple[str, ...] = ()
        if client is not None and "post_logout_redirect_uri" in fields:
            targets = self._kit.targets_for(client.post_logout_redirect_uris, fields["post_logout_redirect_uri"])
        return self._kit.render(
            request, "logout.html", person=person, action=_LOGOUT_PATH, client=client, fields=fields, form_targets=targets
        )

    def render_logged_out(self, request: Request, *, client: Client | None = None) -> Response:
        """`client`: the application that asked for it. Also takes the cookie away."""
        response = self._kit.render(request, "logged_out.html", client=client)
        self.forget(response)
        return response

    def forget(self, response: Response) -> None:
        """Take the session's cookie away with this answer."""
        self._kit.cookies.remove(response, COOKIE)
