"""{auth_url}/authorize: a person gives an application access, or refuses.

The gateway stores nothing between the steps. The login page and the consent page pass the request on, and every step checks it
again.
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
    BadRedirect,
    ReturnAddress,
    find_client_id,
    find_return,
    parse_request,
)
from domogate.auth.browser_endpoint import BrowserEndpoint
from domogate.auth.forms import Pairs, address_of, parse_pairs, read_pairs
from domogate.auth.redirects import see_other, send_back
from domogate.common.http_messages import request_of
from domogate.domain.people import Client
from domogate.services.authorization import OAuthError, OAuthFault
from domogate.services.authorization.consents import Choice, Incomplete, Question
from domogate.services.authorization.scopes import for_person
from domogate.services.people import LoggedIn

DECISION = "decision"
ALLOW, DENY = "allow", "deny"
_REQUEST = "asking"
"""The field of the consent form that holds the whole request.

The request is encoded as a query, because a browser would change line breaks in plain text.
"""
_FOR_THE_PAGE = ("redirect_uri", "ui_locales")
_SINCE = "login_since"
"""The gateway adds this parameter to the request when it sends the person to the login page.

Its value is the time of this redirect, with a MAC. When the person comes back, the gateway compares this time with the time of
the login. So it knows whether the person has logged in for this request.
"""


class Decision(msgspec.Struct, frozen=True):
    """The person's answer on the consent page."""

    form: Mapping[str, str]
    scopes: frozenset[str]
    plants: frozenset[str]


class AuthorizeEndpoint(BrowserEndpoint, frozen=True, kw_only=True):
    """Checks the request, asks for login and consent, and redirects the browser with the response."""

    ADVICE = "GET the authorization endpoint with the parameters in the query (RFC 6749 §4.1.1)."

    path: str
    implicit_enabled: bool

    async def get(self, request: Request) -> Response:
        try:
            pairs = parse_pairs(request.scope["query_string"])
        except OAuthFault as fault:
            return self.show(request, fault)
        return await self._answer(request, pairs, None)

    async def post(self, request: Request) -> Response:
        """Handles the posted consent form, and requests that applications send as a form (OpenID Connect Core §3.1.2.1).

        The browser sends the form of an application without our cookie (SameSite=Lax). So the answer to such a form is a
        redirect to a URL with the same request in the query. The browser follows the redirect with the cookie.
        """
        try:
            pairs = await read_pairs(request_of(request.scope, request.receive), self.max_body)
            original = parse_pairs(dict(pairs).get(_REQUEST, "").encode())
        except OAuthFault as fault:
            return self.show(request, fault)
        form = dict(pairs)
        if DECISION not in form:
            return see_other(f"{self.issuer}/authorize?{urlencode(pairs)}")
        scopes, plants = (frozenset(value for name, value in pairs if name == field) for field in ("scope", "plant"))
        return await self._answer(request, original, Decision(form, scopes, plants))

    # --- the request --------------------------------------------------------------------------------------------------

    async def _answer(self, request: Request, pairs: Pairs, decision: Decision | None) -> Response:
        try:
            client = await self._find_client(pairs)
            back = find_return(pairs, client)
        except BadRedirect as bad:
            return self.show(request, bad)
        try:
            asked = parse_request(pairs, client, back, implicit_enabled=self.implicit_enabled)
            return await self._proceed(request, asked, decision)
        except OAuthFault as fault:
            return self._send_back(back, {"error": fault.error, "error_description": fault.description})

    async def _find_client(self, pairs: Pairs) -> Client:
        client_id = find_client_id(pairs)
        client = await self.authorization.clients.find(client_id)
        if client is None:
            raise BadRedirect(
                f"There is no application with the client_id {client_id!a} here.",
                "Send client_id exactly as it is registered.",
            )
        return client

    async def _proceed(self, request: Request, asked: AuthorizationRequest, decision: Decision | None) -> Response:
        person = await self.find_person(request)
        if person is None or not await self._is_suitable_login(person, asked):
            if NONE in asked.prompt:
                raise OAuthFault(OAuthError.LOGIN_REQUIRED, "The person has to log in first.")
            return await self._to_login(request, asked)
        scopes = for_person(asked.consent.scopes, person.user)
        if not scopes:
            raise OAuthFault(OAuthError.INVALID_SCOPE, "This person cannot grant any of these scopes.")
        asked = msgspec.structs.replace(asked, consent=msgspec.structs.replace(asked.consent, scopes=scopes))
        if decision is not None:
            return await self._decide(request, person, asked, decision)
        consents = self.authorization.consents
        choice = None if CONSENT in asked.prompt else await consents.find_choice(person.user, asked.consent)
        if choice is not None:
            return await self._grant(request, person, asked, choice)
        if NONE in asked.prompt:
            raise OAuthFault(OAuthError.CONSENT_REQUIRED, "The person has to consent first.")
        return self._ask(request, person, asked, await consents.ask(person.user, asked.consent))

    # --- the login ----------------------------------------------------------------------------------------------------

    async def _is_suitable_login(self, person: LoggedIn, asked: AuthorizationRequest) -> bool:
        """Whether the login is recent enough, and is a login of the person that the application expects.

        Raises OAuthFault if another person than the one in id_token_hint has just logged in for this request. Also raises
        OAuthFault if the request forbids a login page (`prompt=none`) and its id_token_hint is not an id token of the client.
        """
        since = await self._find_since(asked)
        has_just_logged_in = since is not None and person.session.auth_time >= since
        if asked.id_token_hint is not None:
            hint = await self.authorization.hints.verify(asked.id_token_hint)
            known = hint is not None and hint.client_id == asked.consent.client.id
            if known and hint is not None and hint.user_id != person.user.id:
                if has_just_logged_in:
                    raise OAuthFault(OAuthError.LOGIN_REQUIRED, "The person who logged in is not the user of id_token_hint.")
                return False
            if not known and NONE in asked.prompt:
                raise OAuthFault(OAuthError.LOGIN_REQUIRED, "The id_token_hint is not an id token of this client.")
        if has_just_logged_in:
            return True
        if asked.prompt & {LOGIN, SELECT_ACCOUNT}:
            return False
        return asked.max_age is None or self.authorization.clock.now() - person.session.auth_time <= asked.max_age

    async def _to_login(self, request: Request, asked: AuthorizationRequest) -> Response:
        since = str(int(self.authorization.clock.now() * 1000))
        signed = f"{since}.{await self.authorization.login_mac.sign(self._to_sign(asked, since))}"
        return self.pages.redirect_to_login(
            request, return_to=f"{self.path}?{asked.to_query(**{_SINCE: signed})}", login_hint=asked.login_hint
        )

    async def _find_since(self, asked: AuthorizationRequest) -> float | None:
        """Return the time at which this gateway sent the person to the login page for this request.

        Return None if the gateway did not send the person there.
        """
        since, _, mac = asked.parameters.get(_SINCE, "").partition(".")
        if mac and await self.authorization.login_mac.verify(self._to_sign(asked, since), mac):
            return int(since) / 1000
        return None

    def _to_sign(self, asked: AuthorizationRequest, since: str) -> str:
        return urlencode(sorted({**asked.parameters, _SINCE: since}.items()))

    # --- the consent --------------------------------------------------------------------------------------------------

    def _ask(
        self,
        request: Request,
        person: LoggedIn,
        asked: AuthorizationRequest,
        question: Question,
        problem: Incomplete | None = None,
    ) -> Response:
        fields = {name: asked.parameters[name] for name in _FOR_THE_PAGE if name in asked.parameters}
        fields[_REQUEST] = asked.to_query()
        return self.pages.render_consent(
            request, person, client=asked.consent.client, question=question, fields=fields, problem=problem
        )

    async def _decide(self, request: Request, person: LoggedIn, asked: AuthorizationRequest, decision: Decision) -> Response:
        answer = decision.form[DECISION]
        if answer not in (ALLOW, DENY) or not self.pages.check_csrf(decision.form, person):
            # The answer is not from this person in this browser: ask again.
            return see_other(f"{self.issuer}/authorize?{asked.to_query()}")
        if answer == DENY:
            self.authorization.consents.note_denial(person.user, asked.consent.client, address_of(request))
            raise OAuthFault(OAuthError.ACCESS_DENIED, "The person refused access.")
        consents = self.authorization.consents
        question = msgspec.structs.replace(
            await consents.ask(person.user, asked.consent), ticked_scopes=decision.scopes, ticked_plants=decision.plants
        )
        choice = consents.choose(question)
        if isinstance(choice, Incomplete):
            return self._ask(request, person, asked, question, choice)
        return await self._grant(request, person, asked, choice)

    async def _grant(self, request: Request, person: LoggedIn, asked: AuthorizationRequest, choice: Choice) -> Response:
        consents, address = self.authorization.consents, address_of(request)
        user, session, consent = person.user, person.session, asked.consent
        if asked.response_type == CODE:
            return self._send_back(asked.back, {"code": await consents.grant_code(user, session, consent, choice, address)})
        if asked.response_type == ID_TOKEN:
            id_token = await consents.grant_id_token(user, session, consent, choice, address)
            return self._send_back(asked.back, {"id_token": id_token})
        tokens = await consents.grant_tokens(user, session, consent, choice, address)
        given = {name: str(value) for name, value in msgspec.to_builtins(tokens).items()}
        return self._send_back(asked.back, given)

    # --- the answer ---------------------------------------------------------------------------------------------------

    def _send_back(self, back: ReturnAddress, parameters: Mapping[str, str]) -> Response:
        """Add `state` and `iss` to the response, and redirect the browser to the application.

        `iss` prevents a mix-up with another provider (RFC 9207).

        Some applications do not know `iss`. They look for the last parameter that they know, and take all text after its name
        as its value. So `iss` is never the last parameter.
        """
        state = {} if back.state is None else {"state": back.state}
        *others, last = {**parameters, **state}.items()
        return send_back(back.redirect_uri, back.mode, dict([*others, ("iss", self.issuer), last]))
