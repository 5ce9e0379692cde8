"""Parses and checks the authorization request: RFC 6749 §4.1.1, RFC 7636 §4.3, OpenID Connect Core §3.1.2.1 and §3.2.2.1.

If the client or its redirect URI is wrong, the person sees an error page (RFC 6749 §4.1.2.1). All other errors are sent to the
application at its redirect URI.
"""

import re
from collections.abc import Mapping
from urllib.parse import urlencode

import msgspec

from domogate.auth.forms import Pairs, repeated
from domogate.auth.redirects import ResponseMode, explain_mismatch, matches
from domogate.domain.people import PAGES_CLIENT, Client, GrantType, IdentityScope
from domogate.services.authorization import OAuthError, OAuthFault
from domogate.services.authorization.client_authentication import require_grant
from domogate.services.authorization.consents import ConsentRequest
from domogate.services.authorization.scopes import choose_scopes
from domogate.services.authorization.secrets import is_challenge

CODE = frozenset({"code"})
ID_TOKEN = frozenset({"id_token"})
ID_TOKEN_TOKEN = frozenset({"id_token", "token"})
_IMPLICIT = (ID_TOKEN, ID_TOKEN_TOKEN)

NONE, LOGIN, CONSENT, SELECT_ACCOUNT = "none", "login", "consent", "select_account"
_PROMPTS = frozenset((NONE, LOGIN, CONSENT, SELECT_ACCOUNT))

_MAX_NONCE = 512
_MAX_STATE = 2_048
_SECONDS = re.compile(r"[0-9]{1,9}", re.ASCII).fullmatch

_NOT_SUPPORTED = {
    "request": OAuthError.REQUEST_NOT_SUPPORTED,
    "request_uri": OAuthError.REQUEST_URI_NOT_SUPPORTED,
    "registration": OAuthError.REGISTRATION_NOT_SUPPORTED,
}


class BadRedirect(Exception):
    """The client or its redirect URI is missing or wrong, so the browser is not redirected. The person sees the error."""

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.advice = advice


class ReturnAddress(msgspec.Struct, frozen=True):
    """The redirect URI of the response, and the part of this URI (query or fragment) that holds the response."""

    redirect_uri: str
    mode: ResponseMode
    state: str | None


class AuthorizationRequest(msgspec.Struct, frozen=True, kw_only=True):
    """An authorization request that passed all checks."""

    consent: ConsentRequest
    back: ReturnAddress
    response_type: frozenset[str]
    prompt: frozenset[str]
    max_age: int | None
    login_hint: str | None
    id_token_hint: str | None
    parameters: Mapping[str, str]
    """The parameters that have a value, as the browser sent them."""

    def to_query(self, **changed: str) -> str:
        return urlencode({**self.parameters, **changed})


def find_client_id(pairs: Pairs) -> str:
    """Return the parameter client_id. Raises BadRedirect if it is missing or occurs more than once."""
    found = [value for name, value in pairs if name == "client_id" and value]
    if len(found) != 1:
        raise BadRedirect(
            "The parameter client_id must be given exactly once.",
            "Send client_id exactly as it is registered.",
        )
    return found[0]


def find_return(pairs: Pairs, client: Client) -> ReturnAddress:
    """Find the redirect URI to which the response or an error may be sent.

    Raises BadRedirect if the request names more than one redirect URI, or a URI that is not registered for the client. If only
    one redirect URI is registered for the client, the request need not name it.
    """
    named = [value for name, value in pairs if name == "redirect_uri" and value]
    advice = "Send one of the registered redirect URIs exactly, or ask the operator to register this one."
    if len(named) > 1:
        raise BadRedirect("The parameter redirect_uri is given more than once.", "Send it once.")
    if not client.redirect_uris:
        raise BadRedirect(f"{client.name} has no redirect URI registered.", "Ask the operator to register one.")
    if not named and len(client.redirect_uris) > 1:
        raise BadRedirect(f"The parameter redirect_uri is missing, and {client.name} has more than one registered.", advice)
    uri = named[0] if named else client.redirect_uris[0]
    # For the gateway's own pages, the port must match too: the pages are always at the same address, and their client needs no
    # consent.
    any_port = not client.confidential and client.id != PAGES_CLIENT
    if "#" in uri or not any(matches(uri, registered, any_port=any_port) for registered in client.redirect_uris):
        raise BadRedirect(explain_mismatch(uri, client), advice)
    states = [value for name, value in pairs if name == "state" and value]
    return ReturnAddress(uri, _guess_mode(pairs), states[0] if len(states) == 1 and len(states[0]) <= _MAX_STATE else None)


def parse_request(pairs: Pairs, client: Client, back: ReturnAddress, *, implicit_enabled: bool) -> AuthorizationRequest:
    """Check the request and return its parameters. Raises OAuthFault for the first mistake.

    The caller sends the fault to the application at `back`.
    """
    # Unknown parameters are ignored, even if they are repeated (RFC 6749 §3.1).
    if doubled := sorted(repeated(pairs) & _NAMES):
        raise _invalid(f"The parameter {doubled[0]} is given more than once.")
    given = {name: value for name, value in pairs if value}
    for name, error in _NOT_SUPPORTED.items():
        if name in given:
            raise OAuthFault(error, f"The parameter {name} is not supported here.")
    response_type = _parse_response_type(given, client, implicit_enabled=implicit_enabled)
    _check_response_mode(given, response_type)
    if len(given.get("state", "")) > _MAX_STATE:
        raise _invalid(f"The state is longer than {_MAX_STATE} characters.")
    scopes = choose_scopes(client, given.get("scope"))
    if not scopes:
        raise OAuthFault(OAuthError.INVALID_SCOPE, "This client may not ask for any of these scopes.")
    consent = ConsentRequest(
        client=client,
        scopes=scopes,
        redirect_uri=back.redirect_uri,
        named_redirect_uri=given.get("redirect_uri"),
        code_challenge=_parse_challenge(given, client) if response_type == CODE else None,
        nonce=_parse_nonce(given, response_type, scopes),
    )
    return AuthorizationRequest(
        consent=consent,
        back=back,
        response_type=response_type,
        prompt=_parse_prompt(given),
        max_age=_parse_max_age(given),
        login_hint=given.get("login_hint"),
        id_token_hint=given.get("id_token_hint"),
        parameters=given,
    )


_NAMES = frozenset(
    (
        *("response_type", "response_mode", "scope", "state", "nonce", "prompt", "max_age", "login_hint", "id_token_hint"),
        *("ui_locales", "code_challenge", "code_challenge_method", "display", "claims", "acr_values", *_NOT_SUPPORTED),
    )
)


def _invalid(description: str) -> OAuthFault:
    return OAuthFault(OAuthError.INVALID_REQUEST, description)


def _guess_mode(pairs: Pairs) -> ResponseMode:
    """Return the response mode for an error that is found before the response mode is checked.

    It is the mode that a successful response to this request would have. A response with a token is never sent in a query
    (OAuth 2.0 Multiple Response Type Encoding Practices §3).
    """
    types = {word for name, value in pairs if name == "response_type" for word in value.split(" ")}
    fragment = types & {"token", "id_token"} or ("response_mode", ResponseMode.FRAGMENT.value) in pairs
    return ResponseMode.FRAGMENT if fragment else ResponseMode.QUERY


def _parse_response_type(given: Mapping[str, str], client: Client, *, implicit_enabled: bool) -> frozenset[str]:
    if "response_type" not in given:
        raise _invalid("The parameter response_type is missing.")
    response_type = frozenset(given["response_type"].split(" "))
    if response_type == CODE:
        require_grant(client, GrantType.AUTHORIZATION_CODE)
    elif response_type in _IMPLICIT and implicit_enabled:
        require_grant(client, GrantType.IMPLICIT)
    else:
        others = ", id_token or id_token token" if implicit_enabled else ""
        raise OAuthFault(OAuthError.UNSUPPORTED_RESPONSE_TYPE, f"The response_type must be code{others}.")
    return response_type


def _check_response_mode(given: Mapping[str, str], response_type: frozenset[str]) -> None:
    implicit = response_type in _IMPLICIT
    mode = given.get("response_mode", ResponseMode.FRAGMENT if implicit else ResponseMode.QUERY)
    if mode not in tuple(ResponseMode) or (implicit and mode == ResponseMode.QUERY):
        # Tokens in a query would appear in logs and in Referer headers.
        raise _invalid(f"The response_mode must be fragment{'' if implicit else ' or query'}.")


def _parse_challenge(given: Mapping[str, str], client: Client) -> str | None:
    challenge, method = given.get("code_challenge"), given.get("code_challenge_method")
    if challenge is None and method is None and client.confidential and client.pkce_exempt:
        if not {"state", "nonce"} & given.keys():
            raise _invalid("The parameter state or nonce is missing: a request without PKCE needs one of them (RFC 9700).")
        return None
    if challenge is None:
        raise _invalid("The parameter code_challenge is missing: PKCE with S256 is required (RFC 7636).")
    if method != "S256":
        raise _invalid("The code_challenge_method must be S256.")
    if not is_challenge(challenge):
        raise _invalid("The code_challenge is not the SHA-256 of a verifier in base64url: 43 characters, no padding.")
    return challenge


def _parse_nonce(given: Mapping[str, str], response_type: frozenset[str], scopes: tuple[str, ...]) -> str | None:
    nonce = given.get("nonce")
    if nonce is not None and len(nonce) > _MAX_NONCE:
        raise _invalid(f"The nonce is longer than {_MAX_NONCE} characters.")
    if response_type in _IMPLICIT:
        if nonce is None:
            raise _invalid("The parameter nonce is missing: the implicit flow needs it.")
        if IdentityScope.OPENID not in scopes:
            raise OAuthFault(OAuthError.INVALID_SCOPE, "The implicit flow needs the scope openid.")
    return nonce


def _parse_prompt(given: Mapping[str, str]) -> frozenset[str]:
    prompt = frozenset(given.get("prompt", "").split())
    if not prompt <= _PROMPTS or (NONE in prompt and len(prompt) > 1):
        raise _invalid("The prompt must be none alone, or some of login, consent and select_account.")
    return prompt


def _parse_max_age(given: Mapping[str, str]) -> int | None:
    max_age = given.get("max_age")
    if max_age is None:
        return None
    if not _SECONDS(max_age):
        raise _invalid("The max_age must be a number of seconds.")
    return int(max_age)
