"""{auth_url}/authorize: a person lets an application in, or does not.

Nothing is remembered between the steps. The login and the consent page carry the request along, and it is checked anew at each.
"""

from collections.abc import Mapping
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from domogate.auth.authorization_request import (
    CODE,
    CONSENT,
    ID_TOKEN,
    LOGIN,
    NONE,
    SELECT_ACCOUNT,
    AuthorizationRequest,
    BadReturn,
    ReturnAddress,
    find_client_id,
    find_return,
    parse_request,
)
from domogate.auth.forms import Pairs, parse_pairs, read_pairs
from domogate.auth.pages import COOKIE, Pages
from domogate.auth.redirects import see_other, send_back
from domogate.domain.people import Client, IdentityScope
from domogate.services.authorization import Authorization, OAuthError, OAuthFault
from domogate.services.authorization.scopes import for_person
from domogate.services.people.sessions import LoggedIn, Sessions

DECISION = "decision"
ALLOW, DENY = "allow", "deny"
_ASKING = "asking"
"""The whole request on its way through the consent form, as a query: a browser changes line ends in any other text."""
_FOR_THE_PAGE = ("redirect_uri", "ui_locales")
_SINCE = "login_since"
"""Added to the request when the person is sent to log in anew: since when they must have, sealed."""
_IN_THE_QUERY = "GET the authorization endpoint with the parameters in the query (RFC 6749 §4.1.1)."


class Decision(msgspec.Struct, frozen=True):
    """What a person answered on the consent page."""

    form: Mapping[str, str]
    ticked: frozenset[str]


class AuthorizeEndpoint:
    """Checks the request, has the person log in and consent, and sends the browser back with the answer."""

    def __init__(
        self,
        authorization: Authorization,
        sessions: Sessions,
        pages: Pages,
        *,
        issuer: str,
        path: str,
        implicit_enabled: bool,
        max_body: int,
    ) -> None:
        self._authorization = authorization
        self._sessions = sessions
        self._pages = pages
        self._issuer = issuer
        self._path = path
        self._implicit_enabled = implicit_enabled
        self._max_body = max_body

    async def get(self, request: Request) -> Response:
        try:
            pairs = parse_pairs(request.scope["query_string"])
        except OAuthFault as fault:
            return self._show(request, fault.description, _IN_THE_QUERY)
        return await self._answer(request, pairs, None)

    async def post(self, request: Request) -> Response:
        """The consent form, or a request that was sent as a form (OpenID Connect Core §3.1.2.1).

        The latter goes on as a query: a form of another site comes without our cookie (SameSite=Lax).
        """
        try:
            pairs = await read_pairs(request, self._max_body)
            asking = parse_pairs(dict(pairs).get(_ASKING, "").encode())
        except OAuthFault as fault:
            return self._show(request, fault.description, _IN_THE_QUERY)
        form = dict(pairs)
        if DECISION not in form:
            return see_other(f"{self._issuer}/authorize?{urlencode(pairs)}")
        ticked = frozenset(value for name, value in pairs if name == "scope")
        return await self._answer(request, asking, Decision(form, ticked))

    # --- the request --------------------------------------------------------------------------------------------------

    async def _answer(self, request: Request, pairs: Pairs, decision: Decision | None) -> Response:
        try:
            client = await self._find_client(pairs)
            back = find_return(pairs, client)
        except BadReturn as bad:
            return self._show(request, bad.problem, bad.advice)
        try:
            asked = parse_request(pairs, client, back, implicit_enabled=self._implicit_enabled)
            return await self._go_on(request, asked, decision)
        except OAuthFault as fault:
            return self._send_back(back, {"error": fault.error, "error_description": fault.description})

    async def _find_client(self, pairs: Pairs) -> Client:
        client_id = find_client_id(pairs)
        client = await self._authorization.clients.find(client_id)
        if client is None:
            raise BadReturn(
                f"There is no application with the client_id {client_id!a} here.",
                "Send client_id exactly as the application is registered.",
            )
        return client

    async def _go_on(self, request: Request, asked: AuthorizationRequest, decision: Decision | None) -> Response:
        person = await self._sessions.find(request.cookies.get(COOKIE))
        if person is None or not await self._is_who_is_wanted(person, asked):
            if NONE in asked.prompt:
                raise OAuthFault(OAuthError.LOGIN_REQUIRED, "The person has to log in first.")
            return self._to_login(request, asked)
        scopes = for_person(asked.wish.scopes, person.user)
        if not scopes:
            raise OAuthFault(OAuthError.INVALID_SCOPE, "This person can grant none of these scopes.")
        asked = msgspec.structs.replace(asked, wish=msgspec.structs.replace(asked.wish, scopes=scopes))
        if decision is not None:
            return await self._decide(request, person, asked, decision)
        if CONSENT in asked.prompt or await self._authorization.consents.must_ask(person.user, asked.wish):
            if NONE in asked.prompt:
                raise OAuthFault(OAuthError.CONSENT_REQUIRED, "The person has to consent first.")
            return self._ask(request, person, asked)
        return await self._grant(request, person, asked, scopes)

    # --- the login ----------------------------------------------------------------------------------------------------

    async def _is_who_is_wanted(self, person: LoggedIn, asked: AuthorizationRequest) -> bool:
        """Whether the person logged in recently enough, and is the one that the application means."""
        since = self._find_since(asked)
        has_just_logged_in = since is not None and person.session.auth_time >= since
        if asked.id_token_hint is not None:
            hint = await self._authorization.hints.verify(asked.id_token_hint)
            known = hint is not None and hint.client_id == asked.wish.client.id
            if known and hint is not None and hint.user_id != person.user.id:
                if has_just_logged_in:
                    raise OAuthFault(OAuthError.LOGIN_REQUIRED, "Somebody else logged in than id_token_hint names.")
                return False
            if not known and NONE in asked.prompt:
                raise OAuthFault(OAuthError.LOGIN_REQUIRED, "The id_token_hint is not an id token of this client.")
        if has_just_logged_in:
            return True
        if asked.prompt & {LOGIN, SELECT_ACCOUNT}:
            return False
        return asked.max_age is None or self._authorization.clock.now() - person.session.auth_time <= asked.max_age

    def _to_login(self, request: Request, asked: AuthorizationRequest) -> Response:
        since = str(int(self._authorization.clock.now() * 1000))
        sealed = f"{since}.{self._authorization.login_seal.of(self._to_seal(asked, since))}"
        return self._pages.redirect_to_login(
            request, return_to=f"{self._path}?{asked.to_query(**{_SINCE: sealed})}", login_hint=asked.login_hint
        )

    def _find_since(self, asked: AuthorizationRequest) -> float | None:
        """When the person was sent to log in for this very request; None when they were not."""
        since, _, seal = asked.parameters.get(_SINCE, "").partition(".")
        if seal and self._authorization.login_seal.holds(self._to_seal(asked, since), seal):
            return int(since) / 1000
        return None

    def _to_seal(self, asked: AuthorizationRequest, since: str) -> str:
        return urlencode(sorted({**asked.parameters, _SINCE: since}.items()))

    # --- the consent --------------------------------------------------------------------------------------------------

    def _ask(self, request: Request, person: LoggedIn, asked: AuthorizationRequest) -> Response:
        fields = {name: asked.parameters[name] for name in _FOR_THE_PAGE if name in asked.parameters}
        fields[_ASKING] = asked.to_query()
        return self._pages.render_consent(request, person, client=asked.wish.client, scopes=asked.wish.scopes, fields=fields)

    async def _decide(self, request: Request, person: LoggedIn, asked: AuthorizationRequest, decision: Decision) -> Response:
        answer = decision.form[DECISION]
        if answer not in (ALLOW, DENY) or not self._pages.check_csrf(decision.form, person):
            # Not an answer of this person in this browser: ask, or ask again.
            return see_other(f"{self._issuer}/authorize?{asked.to_query()}")
        if answer == DENY:
            self._authorization.consents.note_denial(person.user, asked.wish.client, _address(request))
            raise OAuthFault(OAuthError.ACCESS_DENIED, "The person did not let the application in.")
        # Who lets an application in lets it know who they are: openid cannot be left out alone.
        kept = decision.ticked | {IdentityScope.OPENID}
        granted = tuple(scope for scope in asked.wish.scopes if scope in kept)
        if not granted:
            raise OAuthFault(OAuthError.ACCESS_DENIED, "The person granted none of the scopes.")
        return await self._grant(request, person, asked, granted)

    async def _grant(
        self, request: Request, person: LoggedIn, asked: AuthorizationRequest, scopes: tuple[str, ...]
    ) -> Response:
        consents, address = self._authorization.consents, _address(request)
        user, session, wish = person.user, person.session, asked.wish
        if asked.response_type == CODE:
            return self._send_back(asked.back, {"code": await consents.grant_code(user, session, wish, scopes, address)})
        if asked.response_type == ID_TOKEN:
            id_token = await consents.grant_id_token(user, session, wish, scopes, address)
            return self._send_back(asked.back, {"id_token": id_token})
        tokens = await consents.grant_tokens(user, session, wish, scopes, address)
        given = {name: str(value) for name, value in msgspec.to_builtins(tokens).items()}
        return self._send_back(asked.back, given)

    # --- the answer ---------------------------------------------------------------------------------------------------

    def _send_back(self, back: ReturnAddress, parameters: Mapping[str, str]) -> Response:
        """With `state`, and with `iss` so that nobody takes it for the answer of another provider (RFC 9207)."""
        state = {} if back.state is None else {"state": back.state}
        return send_back(back.redirect_uri, back.mode, {**parameters, **state, "iss": self._issuer})

    def _show(self, request: Request, problem: str, advice: str) -> Response:
        return self._pages.render_error(request, status=400, problem=problem, advice=advice)


def _address(request: Request) -> str:
    return request.client.host if request.client else ""
