"""A person at a browser and an application that knows only the auth URL, against a running gateway, over HTTP alone.

The person's browser keeps cookies, follows redirects within the gateway, and sends the forms of its pages as they stand there.
Signatures are checked by PyJWT, another implementation than the gateway's.
"""

import base64
import hashlib
import re
import secrets
import tempfile
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
import jwt
import pytest
import yaml

from support.gateway import Gateway, _shared
from support.http import client
from support.pages import FormOnPage, forms_of

ANNA, BRUNO = "anna@example.com", "bruno@example.com"
OPERATOR = "olga@example.com"
LOGIN, CONSENT, LOGOUT = "login", "consent", "logout"
_ACTIONS = {"/auth/login": LOGIN, "/auth/authorize": CONSENT, "/auth/logout": LOGOUT}
_MOST_STEPS = 12
_FORM = {"content-type": "application/x-www-form-urlencoded"}

HOME_SCOPES = ("plug.read", "plug.write", "topology.read", "light.read", "comfort.read", "safety.read")


@dataclass(frozen=True)
class App:
    """An application as it is registered."""

    id: str
    secret: str | None
    redirect_uris: tuple[str, ...]
    bye: tuple[str, ...] = ()
    grants: tuple[str, ...] = ("authorization_code", "refresh_token")
    scopes: tuple[str, ...] = HOME_SCOPES
    pkce_exempt: bool = False

    def to_estate(self) -> dict[str, Any]:
        record = {
            "id": self.id,
            "name": f"App {self.id}",
            "secret": self.secret,
            "redirectUris": list(self.redirect_uris),
            "postLogoutRedirectUris": list(self.bye),
            "grants": list(self.grants),
            "scopes": list(self.scopes),
            "pkceExempt": self.pkce_exempt,
        }
        return {name: value for name, value in record.items() if value not in (None, [], False)}


# The suite's clients ask for a code without PKCE in all modules but one.
CERTIFIED = App(
    "certified", "certified-secret-0123456789abcdef", ("https://rp.example/callback",), ("https://rp.example/bye",),
    pkce_exempt=True,
)  # fmt: skip
SECOND = App("second", "second-secret-0123456789abcdefgh", ("https://second.example/callback",), pkce_exempt=True)
STRICT = App(
    "strict", "strict-secret-0123456789abcdefgh",
    ("https://strict.example/callback", "https://strict.example/other?kept=1", "https://strict.example:8443/port"),
)  # fmt: skip
BROWSER_APP = App("browser-app", None, ("https://page.example/callback",), grants=("authorization_code", "implicit"))
DESK = App("desk", "desk-secret-0123456789abcdefghij", ("https://desk.example/callback",), scopes=("gateway.manage",))

ESTATE = {
    "users": [{"email": OPERATOR, "name": "Olga Operator", "password": "olga-minds-the-house", "operator": True}],
    "clients": [app.to_estate() for app in (CERTIFIED, SECOND, STRICT, BROWSER_APP, DESK)],
}


def prepare(gateway: Gateway) -> Gateway:
    """Register the applications, and the operator, beside what the demo has."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "estate.yaml"
        file.write_text(yaml.safe_dump(ESTATE))
        gateway.domogate("estate", "import", str(file))
    return gateway


def provider(request: pytest.FixtureRequest, name: str, settings: Mapping[str, str]) -> Gateway:
    """A demo with these applications, one of that name for the whole run."""
    gateway = _shared(request, name, settings)
    if not gateway.early:
        assert gateway.estate.plants  # as every demo has it at first, which is how all tests of this process know it
        prepare(gateway)
        gateway.early = {"prepared": True}
    return gateway


GRACE = 3.0


def identity_gateway(request: pytest.FixtureRequest) -> Gateway:
    """With implicit on, and a short grace for refreshes: tests that wait for its end do not wait long."""
    return provider(
        request,
        "identity",
        {"DOMOGATE_IMPLICIT_ENABLED": "true", "DOMOGATE_REFRESH_GRACE": str(GRACE), "DOMOGATE_STATE_MAX_AGE": "3600"},
    )


def password_of(gateway: Gateway, email: str) -> str:
    known = {user["email"]: user["password"] for user in gateway.ready["users"]} | {OPERATOR: "olga-minds-the-house"}
    return str(known[email])


def _client_of(owner: "Browser | RelyingParty") -> httpx.Client:
    """Closed when its owner is gone."""
    http = client(owner.gateway.base_url)
    weakref.finalize(owner, http.close)
    return http


# --- the person -------------------------------------------------------------------------------------------------------


class Browser:
    """Somebody's browser. `seen` are the pages that asked them something, since the last time it was emptied."""

    def __init__(self, gateway: Gateway, email: str = ANNA, password: str | None = None) -> None:
        self.gateway = gateway
        self.email = email
        self.password = password_of(gateway, email) if password is None else password
        self.http = _client_of(self)
        self.seen: list[str] = []

    def open(self, path: str, parameters: Mapping[str, str] | None = None) -> httpx.Response:
        """What is shown there at first, after redirects within the gateway; or the redirect that leads out of it."""
        return self._stay_inside(self.http.get(path, params=parameters))

    def go(
        self,
        path: str,
        parameters: Mapping[str, str] | None = None,
        *,
        post: bool = False,
        scopes: Sequence[str] | None = None,
        decision: str = "allow",
    ) -> httpx.Response:
        """Log in and consent wherever asked, until the browser leaves the gateway or a page asks nothing more."""
        if post:
            content = urlencode(dict(parameters or {}))
            answer = self._stay_inside(self.http.post(path, content=content, headers=_FORM))
        else:
            answer = self.open(path, parameters)
        for _ in range(_MOST_STEPS):
            form = question_of(answer)
            if form is None:
                return answer
            kind = _ACTIONS[form.action]
            self.seen.append(kind)
            if kind == LOGIN:
                answer = self.send(answer, form, {"email": self.email, "password": self.password})
            elif kind == CONSENT:
                answer = self._decide(answer, form, scopes, decision)
            else:
                return answer
            if answer.status_code in (400, 403, 429) and question_of(answer) is not None:
                return answer
        raise AssertionError(f"the pages ask for ever: {self.seen}")

    def send(self, page: httpx.Response, form: FormOnPage, values: Mapping[str, str]) -> httpx.Response:
        """The form as it stands on the page, with these values."""
        content = urlencode({**form.fields, **values})
        return self._stay_inside(self.http.post(str(page.url.join(form.action)), content=content, headers=_FORM))

    def log_in(self) -> None:
        answer = self.go("/auth/login")
        assert answer.status_code == 200, answer.text
        assert answer.url.path == "/auth/account"

    def _decide(self, page: httpx.Response, form: FormOnPage, scopes: Sequence[str] | None, decision: str) -> httpx.Response:
        ticked = scopes_on(page) if scopes is None else scopes
        hidden = [(name, value) for name, value in form.fields.items() if name != "scope"]
        content = urlencode([*hidden, *(("scope", scope) for scope in ticked), ("decision", decision)])
        return self._stay_inside(self.http.post(str(page.url.join(form.action)), content=content, headers=_FORM))

    def _stay_inside(self, answer: httpx.Response) -> httpx.Response:
        for _ in range(_MOST_STEPS):
            target = answer.url.join(answer.headers.get("location", ""))
            if answer.status_code != 303 or not str(target).startswith(f"{self.gateway.base_url}/"):
                return answer
            answer = self.http.get(str(target))
        raise AssertionError("the redirects lead round in a circle")


def question_of(answer: httpx.Response) -> FormOnPage | None:
    """The form by which the page asks for a login, a consent or a logout."""
    if "text/html" not in answer.headers.get("content-type", ""):
        return None
    return next((form for form in forms_of(answer.text) if form.action in _ACTIONS), None)


def scopes_on(page: httpx.Response) -> list[str]:
    """All scopes that a consent page offers."""
    return re.findall(r'name="scope" value="([^"]+)"', page.text)


def is_error_page(answer: httpx.Response) -> bool:
    """For the application's developer: HTML, and no way out of the gateway."""
    return (
        answer.status_code == 400
        and "text/html" in answer.headers["content-type"]
        and "location" not in answer.headers
        and "refresh" not in answer.headers
        and 'id="developer"' in answer.text
    )


# --- the application --------------------------------------------------------------------------------------------------


@dataclass
class Login:
    """What an application has after a person let it in, its id token checked."""

    tokens: dict[str, Any]
    claims: dict[str, Any]
    parameters: dict[str, str] = field(default_factory=dict)

    @property
    def access_token(self) -> str:
        return str(self.tokens["access_token"])

    @property
    def id_token(self) -> str:
        return str(self.tokens["id_token"])

    @property
    def refresh_token(self) -> str:
        return str(self.tokens["refresh_token"])


class RelyingParty:
    """An application that learns everything from discovery."""

    def __init__(self, gateway: Gateway, app: App = CERTIFIED) -> None:
        self.gateway = gateway
        self.app = app
        self.http = _client_of(self)
        self.verifier = secrets.token_urlsafe(48)

    @cached_property
    def metadata(self) -> dict[str, Any]:
        answer = self.http.get("/auth/.well-known/openid-configuration")
        assert answer.status_code == 200
        metadata: dict[str, Any] = answer.json()
        return metadata

    def request(self, **changed: str | None) -> dict[str, str]:
        """A good authorization request; a value of None leaves the parameter out. PKCE where it is demanded."""
        strict: dict[str, str | None] = {}
        if not self.app.pkce_exempt and changed.get("response_type", "code") == "code":
            strict = {"code_challenge": challenge_of(self.verifier), "code_challenge_method": "S256"}
        asked: dict[str, str | None] = {
            "response_type": "code",
            "client_id": self.app.id,
            "redirect_uri": self.app.redirect_uris[0],
            "scope": "openid",
            "state": secrets.token_urlsafe(12),
            "nonce": secrets.token_urlsafe(12),
            **strict,
            **changed,
        }
        return {name: value for name, value in asked.items() if value is not None}

    def authorize(self, browser: Browser, *, post: bool = False, **changed: str | None) -> httpx.Response:
        return browser.go("/auth/authorize", self.request(**changed), post=post)

    def returned(self, answer: httpx.Response, asked: Mapping[str, str], mode: str = "query") -> dict[str, str]:
        """What came back at the redirect URI; `state` and `iss` are checked (RFC 6749 §10.12, RFC 9207)."""
        assert answer.status_code == 303, f"{answer.status_code}: {answer.text[:2000]}"
        target = urlsplit(answer.headers["location"])
        assert answer.headers["location"].startswith(asked.get("redirect_uri", self.app.redirect_uris[0]))
        assert mode == "query" or not target.query
        assert mode == "fragment" or not target.fragment
        pairs = parse_qsl(target.query if mode == "query" else target.fragment, keep_blank_values=True, strict_parsing=True)
        found = dict(pairs)
        assert len(found) == len(pairs)
        assert found.get("state") == asked.get("state")
        assert found["iss"] == self.metadata["issuer"]
        return found

    def get_code(
        self, browser: Browser, *, post: bool = False, scopes: Sequence[str] | None = None, **changed: str | None
    ) -> str:
        asked = self.request(**changed)
        return self.returned(browser.go("/auth/authorize", asked, post=post, scopes=scopes), asked)["code"]

    def redeem(self, code: str, *, by_post: bool = False, **changed: str | None) -> httpx.Response:
        strict = {} if self.app.pkce_exempt else {"code_verifier": self.verifier}
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": self.app.redirect_uris[0], **strict}
        return self.post_form("/auth/token", {**form, **changed}, by_post=by_post)

    def refresh(self, refresh_token: str, *, by_post: bool = False, **changed: str | None) -> httpx.Response:
        form = {"grant_type": "refresh_token", "refresh_token": refresh_token, **changed}
        return self.post_form("/auth/token", form, by_post=by_post)

    def revoke(self, token: str) -> httpx.Response:
        return self.post_form("/auth/revoke", {"token": token})

    def post_form(self, path: str, form: Mapping[str, str | None], *, by_post: bool = False) -> httpx.Response:
        """With the client's credentials: by HTTP Basic, or in the form (`by_post`), as a public client always does."""
        fields = {name: value for name, value in form.items() if value is not None}
        auth: Any = httpx.USE_CLIENT_DEFAULT
        if self.app.secret is None:
            fields["client_id"] = self.app.id
        elif by_post:
            fields |= {"client_id": self.app.id, "client_secret": self.app.secret}
        else:
            auth = httpx.BasicAuth(self.app.id, self.app.secret)
        return self.http.post(path, content=urlencode(fields), headers=_FORM, auth=auth)

    def log_in(self, browser: Browser, *, by_post: bool = False, post: bool = False, **changed: str | None) -> Login:
        """The whole flow: a code, its tokens, and the id token checked."""
        asked = self.request(**changed)
        back = self.returned(browser.go("/auth/authorize", asked, post=post), asked)
        answer = self.redeem(back["code"], by_post=by_post, redirect_uri=asked.get("redirect_uri"))
        tokens = check_token_response(answer)
        claims = self.check_id_token(tokens["id_token"], nonce=asked.get("nonce"), access_token=tokens["access_token"])
        return Login(tokens, claims, back)

    def check_id_token(self, token: str, *, nonce: str | None = None, access_token: str | None = None) -> dict[str, Any]:
        """OpenID Connect Core §3.1.3.7."""
        header = jwt.get_unverified_header(token)
        keys = jwt.PyJWKSet.from_dict(self.http.get(urlsplit(self.metadata["jwks_uri"]).path).json())
        algorithms = self.metadata["id_token_signing_alg_values_supported"]
        claims: dict[str, Any] = jwt.decode(
            token,
            keys[header["kid"]],
            algorithms,
            audience=self.app.id,
            issuer=self.metadata["issuer"],
            options={"require": ["iss", "sub", "aud", "exp", "iat"]},
        )
        assert isinstance(claims["sub"], str)
        assert 0 < len(claims["sub"]) <= 255
        assert claims["aud"] == self.app.id
        assert abs(time.time() - claims["iat"]) < 60
        assert claims.get("nonce") == nonce
        if access_token is not None:
            assert claims["at_hash"] == half_hash(access_token)
        return claims

    def userinfo(self, access_token: str) -> httpx.Response:
        return self.http.get("/auth/userinfo", headers={"authorization": f"Bearer {access_token}"})


def check_token_response(answer: httpx.Response) -> dict[str, Any]:
    """RFC 6749 §5.1."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].split(";")[0] == "application/json"
    assert "no-store" in answer.headers["cache-control"]
    tokens: dict[str, Any] = answer.json()
    assert tokens["token_type"].lower() == "bearer"
    assert type(tokens["expires_in"]) is int
    assert type(tokens["expires_on"]) is int
    assert abs(tokens["expires_on"] - time.time() - tokens["expires_in"]) < 60
    return tokens


def check_oauth_error(answer: httpx.Response, error: str, status: int = 400) -> None:
    """RFC 6749 §5.2."""
    assert answer.status_code == status, f"{answer.status_code}: {answer.text}"
    assert answer.headers["content-type"].split(";")[0] == "application/json"
    assert "no-store" in answer.headers["cache-control"]
    assert answer.json()["error"] == error
    assert "access_token" not in answer.text


def challenge_of(verifier: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def half_hash(token: str) -> str:
    """at_hash for an algorithm with SHA-256 (OpenID Connect Core §3.1.3.6)."""
    return base64.urlsafe_b64encode(hashlib.sha256(token.encode()).digest()[:16]).rstrip(b"=").decode()


# --- the operator ------------------------------------------------------------------------------------------------------


class Operator:
    """Manages over HTTP with a token that the usual flow gave."""

    def __init__(self, gateway: Gateway, login: Login) -> None:
        self.browser = Browser(gateway, OPERATOR)
        self.http = self.browser.http
        self._headers = {"authorization": f"Bearer {login.access_token}"}

    def send(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        answer = self.http.request(method, f"/manage/v1{path}", json=body, headers=self._headers)
        assert answer.status_code < 300, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def follow_link(self, url: str, password: str) -> None:
        """Set a password by a one-time link, on its page."""
        page = self.browser.open(url)
        form = next(form for form in forms_of(page.text) if "password" in form.fields)
        done = self.browser.send(page, form, {"password": password, "repeated": password})
        assert done.status_code == 200, done.text
