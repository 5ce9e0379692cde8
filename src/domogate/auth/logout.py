"""{auth_url}/logout: an application asks that the person be logged out here (OpenID Connect RP-Initiated Logout 1.0)."""

from collections.abc import Mapping
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from domogate.auth.authorization_request import BadReturn
from domogate.auth.forms import Pairs, once, parse_pairs, read_pairs
from domogate.auth.pages import COOKIE, Pages
from domogate.auth.redirects import ResponseMode, see_other, send_back
from domogate.domain.people import Client
from domogate.services.authorization import Authorization, Hint, OAuthFault
from domogate.services.people.sessions import LoggedIn, Sessions

DECISION = "decision"
LOG_OUT = "logout"
_PASSED_ON = ("id_token_hint", "client_id", "post_logout_redirect_uri", "state", "ui_locales")
_ADVICE = "See RP-Initiated Logout 1.0 §2 for the parameters."


class Farewell(msgspec.Struct, frozen=True):
    """A logout request, checked."""

    hint: Hint | None
    client: Client | None
    continue_to: str | None
    state: str | None
    fields: Mapping[str, str]


class LogoutEndpoint:
    """Ends the session of the browser, after asking unless the application shows that it means this person."""

    def __init__(self, authorization: Authorization, sessions: Sessions, pages: Pages, *, issuer: str, max_body: int) -> None:
        self._authorization = authorization
        self._sessions = sessions
        self._pages = pages
        self._issuer = issuer
        self._max_body = max_body

    async def get(self, request: Request) -> Response:
        try:
            farewell = await self._check(parse_pairs(request.scope["query_string"]))
        except (BadReturn, OAuthFault) as problem:
            return self._show(request, problem)
        person = await self._sessions.find(request.cookies.get(COOKIE))
        means_this_person = person is not None and farewell.hint is not None and farewell.hint.user_id == person.user.id
        if person is None or means_this_person:
            return await self._finish(request, person, farewell)
        return self._pages.render_logout(request, person, client=farewell.client, fields=farewell.fields)

    async def post(self, request: Request) -> Response:
        """The answer to our question, or a request sent as a form; that comes without our cookie, so it goes on as a query."""
        try:
            pairs = await read_pairs(request, self._max_body)
            form = once(pairs)
            if DECISION not in form:
                return see_other(f"{self._issuer}/logout?{urlencode(pairs)}")
            farewell = await self._check([(name, form[name]) for name in _PASSED_ON if name in form])
        except (BadReturn, OAuthFault) as problem:
            return self._show(request, problem)
        person = await self._sessions.find(request.cookies.get(COOKIE))
        if person is not None and not self._pages.check_csrf(form, person):
            return self._pages.render_logout(request, person, client=farewell.client, fields=farewell.fields)
        if person is not None and form[DECISION] != LOG_OUT:
            return see_other(f"{self._issuer}/account")
        return await self._finish(request, person, farewell)

    async def _check(self, pairs: Pairs) -> Farewell:
        given = once(pairs)
        hint = await self._authorization.hints.verify(given["id_token_hint"]) if "id_token_hint" in given else None
        client_id = given.get("client_id", None if hint is None else hint.client_id)
        if hint is not None and hint.client_id != client_id:
            raise BadReturn("The client_id is not that of the id_token_hint.", "Send an id token of the same client.")
        client = None if client_id is None else await self._authorization.clients.find(client_id)
        if client is None and client_id is not None:
            raise BadReturn(f"There is no application with the client_id {client_id!a} here.", _ADVICE)
        uri = given.get("post_logout_redirect_uri")
        if uri is not None and client is None:
            raise BadReturn(
                "A post_logout_redirect_uri was sent without a valid id_token_hint or client_id.",
                "Send one of them, so that it is known whose address it is.",
            )
        if uri is not None and client is not None and uri not in client.post_logout_redirect_uris:
            raise BadReturn(
                f"The post_logout_redirect_uri {ascii(uri)[1:-1]} is not registered for {client.name}.",
                "Send one of the registered ones, letter by letter, or have the operator register this one.",
            )
        fields = {name: given[name] for name in _PASSED_ON if name in given}
        return Farewell(hint, client, uri, given.get("state"), fields)

    async def _finish(self, request: Request, person: LoggedIn | None, farewell: Farewell) -> Response:
        if person is not None:
            await self._sessions.log_out(request.cookies.get(COOKIE))
            client_id = None if farewell.client is None else farewell.client.id
            self._authorization.notes.logged_out(person.user.id, client_id, request.client.host if request.client else "")
        if farewell.continue_to is None:
            return self._pages.render_logged_out(request, client=farewell.client)
        state = {} if farewell.state is None else {"state": farewell.state}
        response = send_back(farewell.continue_to, ResponseMode.QUERY, state) if state else see_other(farewell.continue_to)
        self._pages.forget(response)
        return response

    def _show(self, request: Request, problem: BadReturn | OAuthFault) -> Response:
        if isinstance(problem, BadReturn):
            return self._pages.render_error(request, status=400, problem=problem.problem, advice=problem.advice)
        return self._pages.render_error(request, status=400, problem=problem.description, advice=_ADVICE)
