"""Tools for the tests of OpenID certification: applications, a browser and a relying party for a running gateway."""

from support.certification_apps import (
    ANNA,
    BROWSER_APP,
    BRUNO,
    CERTIFIED,
    DESK,
    GRACE,
    OPERATOR,
    SECOND,
    STRICT,
    App,
    identity_gateway,
    password_of,
    prepare,
    provider,
)
from support.certification_browser import CONSENT, LOGIN, LOGOUT, Browser, is_error_page, question_of, scopes_on
from support.certification_client import Login, Operator, RelyingParty, check_oauth_error, check_token_response, half_hash
from support.pkce import challenge_of

__all__ = [
    "ANNA",
    "BROWSER_APP",
    "BRUNO",
    "CERTIFIED",
    "CONSENT",
    "DESK",
    "GRACE",
    "LOGIN",
    "LOGOUT",
    "OPERATOR",
    "SECOND",
    "STRICT",
    "App",
    "Browser",
    "Login",
    "Operator",
    "RelyingParty",
    "challenge_of",
    "check_oauth_error",
    "check_token_response",
    "half_hash",
    "identity_gateway",
    "is_error_page",
    "password_of",
    "prepare",
    "provider",
    "question_of",
    "scopes_on",
]
