"""Requests without valid credentials: at least one for each route of the gateway, with values that differ each time."""

import base64
import json
import re
import secrets
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from urllib.parse import unquote, urlencode

import httpx

from domogate.app.documents import SURFACES
from domogate.edge.stack import ASGIApp

PAGES = (
    *("/", "/homes", "/homes/{}", "/console/{}", "/developers/{}", "/signed-in?code={}", "/assets/{}", "/logo", "/icon.svg"),
    *("/icon-180.png", "/icon-192.png", "/icon-512.png", "/manifest.webmanifest"),
)
OTHERS = (
    *("/{}", "/healthz", "/readyz", "/openapi", "/openapi/{}", "/echo", "/.well-known/openid-configuration/auth"),
    *("/homeauto/v1.0/plants", "/homeauto/v1.0/plants/{}/topology", "/emergency-lighting/module/{}/spare-parts"),
)
AUTH = (
    *("GET jwks", "GET .well-known/openid-configuration", "GET .well-known/oauth-authorization-server", "GET userinfo"),
    *("GET pages/style.css", "GET pages/passkeys.js", "GET authorize?client_id={}", "GET logout?id_token_hint={}"),
    *("GET login?return_to=/auth/{}", "GET login?login_hint={}", "GET login/code?return_to=/auth/{}"),
    *("GET login/set-up?return_to=/auth/{}", "GET login/forgotten?return_to=/auth/{}", "GET password?token={}"),
    *("GET password/{}", "GET account", "GET account/plants/leave?plant={}", "GET account/plants/people?plant={}"),
    *("GET account/plants/people/limits?plant={}", "GET account/password", "GET account/second-factor"),
    *("GET account/passkeys", "GET account/passkeys/change?id={}", "GET account/recovery-codes", "GET account/profile"),
    *("GET account/email", "GET account/email/confirm?token={}", "GET account/delete", "GET account/terms", "GET {}"),
    *("POST userinfo", "POST authorize", "POST token", "POST token/", "POST revoke", "POST introspect", "POST logout"),
    *("POST login", "POST login/passkey", "POST login/code", "POST login/code/passkey", "POST login/set-up"),
    *("POST login/forgotten", "POST password", "POST account/logout", "POST account/applications/revoke"),
    *("POST account/sessions/end", "POST account/webhooks/end", "POST account/plants/leave", "POST account/plants/people"),
    *("POST account/plants/people/limits", "POST account/plants/people/withdraw", "POST account/password"),
    *("POST account/second-factor/on", "POST account/second-factor/off", "POST account/passkeys"),
    *("POST account/passkeys/change", "POST account/passkeys/remove", "POST account/recovery-codes"),
    *("POST account/profile", "POST account/email", "POST account/email/confirm", "POST account/delete"),
    *("POST account/terms", "GET first-operator?token={}", "POST first-operator"),
    *("GET account/plants/people/link?plant={}", "POST account/plants/people/link"),
    *("POST account/plants/people/link/withdraw", "GET invitation?token={}", "POST invitation"),
    *("GET invitation/account?token={}", "POST invitation/account"),
)
"""Paths under /auth/."""
MARK = "sent-by-a-stranger-"
"""Every text that is sent begins with it."""
_FORM = {"x": "{}"}
_FORMS = {
    "token": {"grant_type": "refresh_token", "refresh_token": "{}", "client_id": "{}"},
    "authorize": {"client_id": "{}"},
    "revoke": {"token": "{}", "client_id": "{}"},
    "introspect": {"token": "{}", "client_id": "{}", "client_secret": "{}"},
    "logout": {"id_token_hint": "{}", "state": "{}"},
    "login": {"email": "{}@example.com", "password": "{}"},
    "login/passkey": {"answer": "{}"},
    "login/code": {"code": "{}"},
    "login/set-up": {"secret": "{}", "code": "{}"},
    "login/forgotten": {"email": "{}@example.com"},
    "password": {"token": "{}", "password": "{}"},
    "invitation": {"token": "{}"},
    "invitation/account": {"token": "{}", "login_name": "{}", "name": "{}", "password": "{}", "repeated": "{}"},
    "first-operator": {"token": "{}", "email": "{}@example.com", "password": "{}", "repeated": "{}"},
}
FROM_LOGIN_PAGE = ("/auth/login", "/auth/login/passkey", "/auth/login/forgotten")
"""Forms with the token of the login page, without which they have no effect."""


class StrangerRequest(NamedTuple):
    """`{}` in the path, the form and the JSON is different each time."""

    method: str
    path: str
    form: Mapping[str, str] | None = None
    json: str = ""

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def list_requests(own: int | None = None) -> list[StrangerRequest]:
    """`own`: list only so many operations of each of our own surfaces."""
    found = [StrangerRequest("GET", path) for path in (*PAGES, *OTHERS, *(surface.document for surface in SURFACES))]
    for line in AUTH:
        method, path = line.split(" ")
        found.append(StrangerRequest(method, f"/auth/{path}", _FORMS.get(path, _FORM) if method == "POST" else None))
    return [*found, *_list_own(own)]


def _list_own(most: int | None) -> Iterator[StrangerRequest]:
    for surface in SURFACES:
        for operation in surface.operations[:most]:
            path = re.sub(r"\{\w+\}", "{}", f"{surface.prefix}{operation.path}")
            yield StrangerRequest(operation.method, path, json="" if operation.body is None else '{"ticket": "{}"}')


def find_hidden_fields(page: str) -> dict[str, str]:
    return dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page))


class Filler:
    """Makes values that differ each time. Every second request has values that are too long to be looked at."""

    def __init__(self, size: int = 1_500) -> None:
        self._size = size
        self._is_long = False

    def headers(self) -> dict[str, str]:
        self._is_long = not self._is_long
        if self._is_long:
            token, key, number = f"{self.text()}.{self.text()}.{self.text()}", self.text(), self.text()
        else:
            claims = {"iss": MARK + secrets.token_hex(500), "sub": MARK + secrets.token_hex(500), "x": secrets.token_hex(1_000)}
            parts = ({"alg": "RS256", "typ": "at+jwt", "kid": MARK + secrets.token_hex(100)}, claims)
            token = ".".join([*(_encode(part) for part in parts), secrets.token_urlsafe(256)])
            key, number = MARK + secrets.token_hex(100), MARK + secrets.token_hex(20)
        return {
            "Authorization": f"Bearer {token}",
            "Ocp-Apim-Subscription-Key": key,
            "X-Request-Id": number,
            "Origin": f"https://{secrets.token_hex(100)}.example",
            "User-Agent": self.text(),
            "Accept-Language": f"de-{self.text()}",
        }

    def text(self) -> str:
        return MARK + secrets.token_urlsafe(self._size)

    def fill(self, text: str) -> str:
        return text.replace("{}", self.text())


def _encode(part: dict[str, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


class Sent(NamedTuple):
    """A request as it is sent."""

    method: str
    target: str
    headers: dict[str, str]
    content: bytes

    async def call(self, application: ASGIApp, pieces: int = 1) -> int:
        """Call the application without HTTP, and drop the answer. The content is sent so many times.

        Returns the number of bytes that the application read.
        """
        path, _, query = self.target.partition("?")
        scope = {
            "type": "http",
            "http_version": "1.1",
            "scheme": "http",
            "method": self.method,
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.lower().encode(), value.encode()) for name, value in self.headers.items()],
            "client": ("192.0.2.7", 4711),
            "server": ("127.0.0.1", 49_152),
        }
        read = 0

        async def receive() -> dict[str, object]:
            nonlocal read
            read += 1
            return {"type": "http.request", "body": self.content, "more_body": read < pieces}

        async def send(_message: object) -> None:
            pass

        await application(scope, receive, send)
        return read * len(self.content)


def build(request: StrangerRequest, filler: Filler, login: httpx.Response) -> Sent:
    """`login` is the login page: some forms have its hidden fields and its cookies. Other requests have invented cookies."""
    headers, form = filler.headers(), request.form
    if request.path in FROM_LOGIN_PAGE and form:
        form = {**find_hidden_fields(login.text), **form}
        headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in login.cookies.items())
    else:
        headers["Cookie"] = filler.fill("domogate_session={}; domogate_half_way={}")
    path = request.path if "?" in request.path or request.method != "GET" else f"{request.path}?x={{}}"
    content = filler.fill(request.json)
    if form:
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        content = urlencode({name: filler.fill(value) for name, value in form.items()})
    return Sent(request.method, filler.fill(path), headers, content.encode())
