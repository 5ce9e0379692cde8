"""A relying party that knows only the auth URL. It checks signatures with PyJWT, which the gateway does not use."""

import base64
import hashlib
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
import jwt

from support.certification_apps import CERTIFIED, FORM, OPERATOR, App, client_of
from support.certification_browser import Browser
from support.forms import forms_of
from support.gateway import Gateway
from support.pkce import challenge_of


@dataclass
class Login:
    """The tokens after a login, with the verified claims of the id token."""

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
    """A relying party that learns all endpoints from discovery."""

    def __init__(self, gateway: Gateway, app: App = CERTIFIED) -> None:
        self.gateway = gateway
        self.app = app
        self.http = client_of(self)
        self.verifier = secrets.token_urlsafe(48)

    @cached_property
    def metadata(self) -> dict[str, Any]:
        answer = self.http.get("/auth/.well-known/openid-configuration")
        assert answer.status_code == 200
        metadata: dict[str, Any] = answer.json()
        return metadata

    def request(self, **changed: str | None) -> dict[str, str]:
        """A valid authorization request, with PKCE if required. A value of None leaves the parameter out."""
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
        """The parameters at the redirect URI. Checks `state` and `iss` (RFC 6749 §10.12, RFC 9207)."""
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
        """With the client's credentials, by HTTP Basic or in the form (`by_post`). A public client uses the form."""
        fields = {name: value for name, value in form.items() if value is not None}
        auth: Any = httpx.USE_CLIENT_DEFAULT
        if self.app.secret is None:
            fields["client_id"] = self.app.id
        elif by_post:
            fields |= {"client_id": self.app.id, "client_secret": self.app.secret}
        else:
            auth = httpx.BasicAuth(self.app.id, self.app.secret)
        return self.http.post(path, content=urlencode(fields), headers=FORM, auth=auth)

    def log_in(
        self,
        browser: Browser,
        *,
        by_post: bool = False,
        post: bool = False,
        plants: Sequence[str] | None = None,
        **changed: str | None,
    ) -> Login:
        """The whole flow: get a code, redeem it, verify the id token."""
        asked = self.request(**changed)
        back = self.returned(browser.go("/auth/authorize", asked, post=post, plants=plants), asked)
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


def half_hash(token: str) -> str:
    """at_hash for an algorithm with SHA-256 (OpenID Connect Core §3.1.3.6)."""
    return base64.urlsafe_b64encode(hashlib.sha256(token.encode()).digest()[:16]).rstrip(b"=").decode()


class Operator:
    """An operator who uses the management API with a token of the usual flow."""

    def __init__(self, gateway: Gateway, login: Login) -> None:
        self.browser = Browser(gateway, OPERATOR)
        self.http = self.browser.http
        self.token = login.access_token
        self._headers = {"authorization": f"Bearer {self.token}"}

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
