"""All pages under /auth, and the functions of the pages that the OAuth endpoints use."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.pages.account import AccountPages
from domogate.auth.pages.browser import COOKIE, Cookies, is_own_form
from domogate.auth.pages.consent import render_consent
from domogate.auth.pages.context import KEPT_IN_A_QUERY, PageContext, PageStore
from domogate.auth.pages.deletion import DeletionPages
from domogate.auth.pages.email import EmailPages
from domogate.auth.pages.first_operator import FirstOperatorPages
from domogate.auth.pages.forgotten_password import ForgottenPasswordPages
from domogate.auth.pages.guest_links import GuestLinkPages
from domogate.auth.pages.guests import PeoplePages
from domogate.auth.pages.invitation import InvitationPages
from domogate.auth.pages.language import Language
from domogate.auth.pages.login import LoginPages
from domogate.auth.pages.passkeys import PasskeyPages
from domogate.auth.pages.password import PasswordPages
from domogate.auth.pages.password_links import PasswordLinkPages
from domogate.auth.pages.profile import ProfilePages
from domogate.auth.pages.recovery_codes import RecoveryCodePages
from domogate.auth.pages.rendering import SCRIPT_PATH, STYLE_PATH, Renderer, form_target
from domogate.auth.pages.second_factor import SecondFactorPages
from domogate.auth.pages.terms import TermsPages
from domogate.auth.redirects import see_other
from domogate.domain.languages import DEFAULT_LANGUAGE
from domogate.domain.people import Client
from domogate.domain.terms import Terms
from domogate.ports import Clock
from domogate.services.authorization.consents import Incomplete, Question
from domogate.services.people import LoggedIn, Passkeys, People, Sessions
from domogate.services.webhooks.administration import WebhookAdministration

_LOGOUT_PATH = "/auth/logout"


class Pages:
    """All pages under /auth: the login, consent, account and error pages."""

    def __init__(
        self,
        sessions: Sessions,
        store: PageStore,
        people: People,
        webhooks: WebhookAdministration,
        clock: Clock,
        *,
        base_url: str,
        has_door: bool = False,
        operator_name: str | None = None,
        default_language: str = DEFAULT_LANGUAGE,
        terms: Terms | None = None,
        mails_links: bool = False,
        passkeys: Passkeys | None = None,
    ) -> None:
        """`mails_links`: whether links can be mailed to people.

        `has_door`: whether the gateway shows pages at /. `passkeys` is None if browsers do not offer passkeys at `base_url`.
        """
        self._context = PageContext(
            sessions,
            store,
            people,
            webhooks,
            clock,
            Renderer(),
            Cookies(secure=base_url.startswith("https:")),
            terms,
            mails_links,
            passkeys,
            has_door=has_door,
            operator_name=operator_name,
            default_language=default_language,
            script_source=f"{form_target(base_url)}{SCRIPT_PATH}",
        )

    def routes(self) -> list[Route]:
        kinds = (
            *(LoginPages, ForgottenPasswordPages, AccountPages, PeoplePages, GuestLinkPages, InvitationPages),
            *(
                PasswordPages,
                SecondFactorPages,
                PasskeyPages,
                RecoveryCodePages,
                PasswordLinkPages,
                FirstOperatorPages,
                ProfilePages,
                EmailPages,
                DeletionPages,
                TermsPages,
            ),
        )
        style = Route(STYLE_PATH, self._context.renderer.serve_style, methods=["GET"])
        script = Route(SCRIPT_PATH, self._context.renderer.serve_script, methods=["GET"])
        return [style, script, *(route for kind in kinds for route in kind(self._context).routes())]

    def redirect_to_login(self, request: Request, *, return_to: str, login_hint: str | None = None) -> Response:
        """Redirect to the login page.

        `return_to` is the path under /auth/ to which the person returns after the login, with its query.
        """
        locales = request.query_params.get("ui_locales")
        return see_other(
            self._context.login_url(quote(return_to, safe=KEPT_IN_A_QUERY), login_hint=login_hint, ui_locales=locales)
        )

    def render_consent(
        self,
        request: Request,
        person: LoggedIn,
        *,
        client: Client,
        question: Question,
        fields: Mapping[str, str],
        problem: Incomplete | None = None,
    ) -> Response:
        """Render the consent page. Its form posts the values in `fields` together with the person's answer.

        `problem` says why the last answer was not accepted.
        """
        return render_consent(self._context, request, person, client=client, question=question, fields=fields, problem=problem)

    def check_csrf(self, form: Mapping[str, Any], person: LoggedIn) -> bool:
        """Whether the posted form was shown to this person in this browser."""
        return is_own_form(form, person.form_token)

    def render_error(self, request: Request, *, status: int, problem: str, advice: str) -> Response:
        """Render an error for the developer of the application.

        The person can show it to the developer. The page has no link to the application, because the redirect URI of the
        request may be wrong.
        """
        return self._context.render(request, "error.html", status=status, problem=problem, advice=advice)

    def render_not_found(self, request: Request) -> Response:
        return self._context.render(request, "not_found.html", status=404)

    async def not_found(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a browser that asks for a path outside of every surface. This method is an ASGI app."""
        await self.render_not_found(Request(scope))(scope, receive, send)

    def render_logout(
        self, request: Request, person: LoggedIn, *, client: Client | None = None, fields: Mapping[str, str] | None = None
    ) -> Response:
        """Ask the person before a logout (RP-Initiated Logout §2).

        The form posts `fields` and `decision` (logout or stay) to /auth/logout.
        """
        fields = fields or {}
        targets: tuple[str, ...] = ()
        if client is not None and "post_logout_redirect_uri" in fields:
            targets = self._context.targets_for(client.post_logout_redirect_uris, fields["post_logout_redirect_uri"])
        return self._context.render(
            request,
            "logout.html",
            language=self._logout_language(request, person, fields),
            person=person,
            action=_LOGOUT_PATH,
            client=client,
            fields=fields,
            form_targets=targets,
        )

    def render_logged_out(
        self,
        request: Request,
        person: LoggedIn | None,
        *,
        client: Client | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> Response:
        """Render the page after a logout, and remove the session cookie.

        `person` is the person who was logged in, `client` is the application that asked for the logout with `fields`.
        """
        language = self._logout_language(request, person, fields or {})
        response = self._context.render(request, "logged_out.html", language=language, client=client)
        self.forget(response)
        return response

    def _logout_language(self, request: Request, person: LoggedIn | None, fields: Mapping[str, str]) -> Language:
        return self._context.language_for(request, f"{_LOGOUT_PATH}?{urlencode(fields)}", person)

    def forget(self, response: Response) -> None:
        """Let this response delete the session cookie in the browser."""
        self._context.cookies.remove(response, COOKIE)
