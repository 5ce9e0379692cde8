"""Cookies, form tokens and posted forms of the pages.

The path of all cookies is /auth, so that browsers do not send them to the families. The prefix `__Host-` of cookie names
needs the path / and is therefore not used.
"""

import hmac
import re
import secrets
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from domogate.auth.forms import URLENCODED, Pairs, content_type, parse_pairs, read_body
from domogate.common.http_messages import BodyTooLong, request_of
from domogate.services.authorization import OAuthFault
from domogate.services.people import form_token_of

COOKIE = "domogate_session"
PENDING_COOKIE = "domogate_half_way"
"""Cookie of a login for which the person has given the password but not yet the second factor.

An earlier session stays valid until the new session exists.
"""
VISIT_COOKIE = "domogate_visit"
"""Cookie of a browser in which nobody is logged in. Before the login, the form token is computed from this cookie."""
FORM_TOKEN = "csrf"

LONGEST_EMAIL = 254
"""In characters: the limit of RFC 5321 §4.5.3.1.3, without the two angle brackets."""

_PATH = "/auth"
_LONGEST_FORM = 65_536
_MOST_FIELDS = 1_000
"""The greatest number of fields of a form. The form with the limits of a guest has a field for each chosen place (at
most `MOST_PLACES`), and some other fields.
"""
_LOCAL_PATH = re.compile(r"/homes|/console|/auth/[A-Za-z0-9_/-]*(\?[!$-;=?-\[\]_a-z~]*)?", re.ASCII).fullmatch


class Form:
    """The fields of a posted form. If a field occurs twice, its first value counts."""

    def __init__(self, fields: Pairs = ()) -> None:
        self._fields = dict(reversed(fields))

    def get(self, name: str, default: str = "") -> str:
        return self._fields.get(name, default)

    def list_filled(self) -> list[str]:
        """Return the names of the fields that are not empty."""
        return [name for name, value in self._fields.items() if value]


async def read_form(request: Request) -> Form:
    """Read a posted form.

    An unreadable or too long form counts as an empty form. An empty form has no form token, so it has no effect.
    """
    sent = request_of(request.scope, request.receive)
    if content_type(sent) != URLENCODED:
        return Form()
    try:
        return Form(parse_pairs(await read_body(sent, _LONGEST_FORM), _MOST_FIELDS))
    except (OAuthFault, BodyTooLong):
        return Form()


def is_own_form(form: Form | Mapping[str, Any], token: str) -> bool:
    """Whether the form comes from one of our pages in this browser. Another site cannot know the token."""
    given = form.get(FORM_TOKEN, "")
    return (
        bool(token) and isinstance(given, str) and hmac.compare_digest(given.encode("utf-8", "surrogatepass"), token.encode())
    )


def parse_return_to(text: str | None) -> str | None:
    """Return the path to return to: /homes, /console, or a path under /auth/ with its query.

    Return None for every other value, because it could lead to another site.
    """
    return text if text and _LOCAL_PATH(text) else None


def agent_of(request: Request) -> str:
    return request.headers.get("user-agent", "")


def visit_token(request: Request) -> str:
    """Return the form token of a browser that has a visit cookie: a cookie that a page sets before the login.

    Return an empty text for a browser without this cookie.
    """
    visit = request.cookies.get(VISIT_COOKIE)
    return form_token_of(visit) if visit else ""


def new_visit() -> str:
    return secrets.token_urlsafe(16)


class Cookies:
    """Sets and removes cookies, always with the same attributes."""

    def __init__(self, *, secure: bool) -> None:
        self._secure = secure

    def set(self, response: Response, name: str, value: str, lifetime: float | None = None) -> None:
        """Add a cookie to the response. If `lifetime` is None, the cookie ends when the browser is closed."""
        response.set_cookie(
            name,
            value,
            max_age=None if lifetime is None else int(lifetime),
            path=_PATH,
            secure=self._secure,
            httponly=True,
            samesite="lax",
        )

    def remove(self, response: Response, name: str) -> None:
        response.delete_cookie(name, path=_PATH, secure=self._secure, httponly=True, samesite="lax")
