"""{auth_url}/logout: an application asks to log the person out (OpenID Connect RP-Initiated Logout 1.0)."""

from collections.abc import Mapping
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from domogate.auth.authorization_request import BadRedirect
from domogate.auth.browser_endpoint import BrowserEndpoint
from domogate.auth.forms import Pairs, address_of, once, parse_pairs, read_pairs
from domogate.auth.pages import COOKIE
from domogate.auth.redirects import ResponseMode, see_other, send_back
from domogate.common.http_messages import request_of
from domogate.domain.people import Client
from domogate.services.authorization import Hint, OAuthFault
from domogate.services.people import LoggedIn

DECISION = "decision"
LOG_OUT = "logout"
_PASSED_ON = ("id_token_hint", "client_id", "post_logout_redirect_uri", "state", "ui_locales")


class LogoutRequest(msgspec.Struct, frozen=True):
    """A logout request that passed all checks."""

    hint: Hint | None
    client: Client | None
    continue_to: str | None
    state: str | None
    fields: Mapping[str, str]


class LogoutEndpoint(BrowserEndpoint, frozen=True, kw_only=True):
    """Ends the session of the browser. The endpoint asks the person first, unless id_token_hint names this person."""

    ADVICE = "See RP-Initiated Logout 1.0 §2 for the parameters."

    async def get(self, request: Request) -> Response:
        try:
            logout = await self._check(parse_pairs(request.scope["query_string"]))
        except (BadRedirect, OAuthFault) as problem:
            return self.show(request, problem)
        person = await self.find_person(request)
        means_this_person = person is not None and logout.hint is not None and logout.hint.user_id == person.user.id
        if person is None or means_this_person:
            return await self._finish(request, person, logout)
        return self.pages.render_logout(request, person, client=logout.client, fields=logout.fields)

    async def post(self, request: Request) -> Response:
        """Handles the person's decision (to log out or not), and logout requests that applications send as a form.

        The browser sends the form of an application without our cookie. So the answer to such a form is a redirect to a URL
        with the same request in the query. The browser follows the redirect with the cookie.
        """
        try:
            pairs = await read_pairs(request_of(request.scope, request.receive), self.max_body)
            form = once(pairs)
            if DECISION not in form:
                return see_other(f"{self.issuer}/logout?{urlencode(pairs)}")
            logout = await self._check([(name, form[name]) for name in _PASSED_ON if name in form])
        except (BadRedirect, OAuthFault) as problem:
            return self.show(request, problem)
        person = await self.find_person(request)
        if person is not None and not self.pages.check_csrf(form, person):
            return self.pages.render_logout(request, person, client=logout.client, fields=logout.fields)
        if person is not None and form[DECISION] != LOG_OUT:
            return see_other(f"{self.issuer}/account")
        return await self._finish(request, person, logout)

    async def _check(self, pairs: Pairs) -> LogoutRequest:
        given = once(pairs)
        hint = await self.authorization.hints.verify(given["id_token_hint"]) if "id_token_hint" in given else None
        client_id = given.get("client_id", None if hint is None else hint.client_id)
        if hint is not None and hint.client_id != client_id:
            raise BadRedirect(
                "The client_id differs from the client of the id_token_hint.", "Send an id token of the same client."
            )
        client = None if client_id is None else await self.authorization.clients.find(client_id)
        if client is None and client_id is not None:
            raise BadRedirect(f"There is no application with the client_id {client_id!a} here.", self.ADVICE)
        uri = given.get("post_logout_redirect_uri")
        if uri is not None and client is None:
            raise BadRedirect(
                "A post_logout_redirect_uri was sent without a valid id_token_hint or client_id.",
                "Send one of them, to show which application the address belongs to.",
            )
        if uri is not None and client is not None and uri not in client.post_logout_redirect_uris:
            raise BadRedirect(
                f"The post_logout_redirect_uri {ascii(uri)[1:-1]} is not registered for {client.name}.",
                "Send one of the registered addresses exactly, or ask the operator to register this one.",
            )
        fields = {name: given[name] for name in _PASSED_ON if name in given}
        return LogoutRequest(hint, client, uri, given.get("state"), fields)

    async def _finish(self, request: Request, person: LoggedIn | None, logout: LogoutRequest) -> Response:
        if person is not None:
            await self.sessions.log_out(request.cookies.get(COOKIE))
            client_id = None if logout.client is None else logout.client.id
            self.authorization.notes.logged_out(person.user.id, client_id, address_of(request))
        if logout.continue_to is None:
            return self.pages.render_logged_out(request, person, client=logout.client, fields=logout.fields)
        state = {} if logout.state is None else {"state": logout.state}
        response = send_back(logout.continue_to, ResponseMode.QUERY, state) if state else see_other(logout.continue_to)
        self.pages.forget(response)
        return response
