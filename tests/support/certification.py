"""A person at a browser and an application that knows only the auth URL, against a running gateway, over HTTP alone."""

from support.certified_apps import (
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
from support.certified_party import Login, Operator, RelyingParty, check_oauth_error, check_token_response, half_hash
from support.certified_person import CONSENT, LOGIN, LOGOUT, Browser, is_error_page, question_of, scopes_on
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
