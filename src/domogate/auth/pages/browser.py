"""What a browser carries between two pages (cookies, form tokens), and what it sends (forms, its address, where to go on).

The cookies live under /auth alone, so that no family ever gets one. That rules out the prefix `__Host-`, which demands Path=/.
"""

import hmac
import re
import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response

from domogate.services.people.sessions import form_token_of

COOKIE = "domogate_session"
HALF_WAY_COOKIE = "domogate_half_way"
"""Between the password and the second factor; whoever was logged in stays so until the new session is there."""
VISIT_COOKIE = "domogate_visit"
"""A browser before anybody has logged in: what the login form's token is bound to."""
FORM_TOKEN = "csrf"

LONGEST_EMAIL = 254
"""RFC 5321 §4.5.3.1.3, less the brackets around it."""

_PATH = "/auth"
_LONGEST_FORM = 65_536
_MOST_FIELDS = 200
_LOCAL_PATH = re.compile(r"/auth/[A-Za-z0-9_/-]*(\?[!$-;=?-\[\]_a-z~]*)?", re.ASCII).fullmatch
_FORM_TYPE = "application/x-www-form-urlencoded"


class Form:
    """The fields of a form; of a field that is there twice the first counts, except in `every`."""

    def __init__(self, fields: list[tuple[str, str]]) -> None:
        self._fields = fields

    def get(self, name: str, default: str = "") -> str:
        return next((value for field, value in self._fields if field == name), default)

    def every(self, name: str) -> list[str]:
        return [value for field, value in self._fields if field == name]


async def read_form(request: Request) -> Form:
    """An empty form when it is too long or no form at all: it has no form token then, and comes to nothing."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM_TYPE:
        return Form([])
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LONGEST_FORM:
            return Form([])
    try:
        fields = parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError:  # not UTF-8, or too many fields
        return Form([])
    return Form(fields)


def is_of_this_browser(form: Form | Mapping[str, Any], token: str) -> bool:
    """Whether the form was made for who sends it now, rather than by another site."""
    given = form.get(FORM_TOKEN, "")
    return (
        bool(token) and isinstance(given, str) and hmac.compare_digest(given.encode("utf-8", "surrogatepass"), token.encode())
    )


def parse_return_to(text: str | None) -> str | None:
    """A path of our own under /auth/, with its query; None for anything that could lead elsewhere."""
    return text if text and _LOCAL_PATH(text) else None


def address_of(request: Request) -> str:
    return request.client.host if request.client else ""


def agent_of(request: Request) -> str:
    return request.headers.get("user-agent", "")


def visit_token(request: Request) -> str:
    """The form token of a browser that has been here before; empty otherwise."""
    visit = request.cookies.get(VISIT_COOKIE)
    return form_token_of(visit) if visit else ""


def new_visit() -> str:
    return secrets.token_urlsafe(16)


class Cookies:
    """Sets and removes them, always the same way."""

    def __init__(self, *, secure: bool) -> None:
        self._secure = secure

    def set(self, response: Response, name: str, value: str, lifetime: float | None = None) -> None:
        """Without `lifetime`: until the browser is closed."""
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
