"""What an application needs around its OAuth client: a person at a browser, and operations to call with the tokens.

The clients that others wrote do the protocol; nothing in here does it for them. `PlainApp` is for tests that need requests in
exactly one form: the one of the specification.
"""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

import httpx

from support.estate_view import asked_of, targets_in
from support.forms import FormReader, Pairs, the_form
from support.gateway import Gateway
from support.http import KEY_HEADER, PATIENCE
from support.pkce import challenge_of
from support.spec_operations import ALL_SCOPES, OPERATIONS, PREFIXES, Operation, Target

EVERYTHING = " ".join(("openid", "profile", "email", *ALL_SCOPES))
FAREWELL = "http://127.0.0.1:8090/bye"
LOGIN, AUTHORIZE, ACCOUNT, REVOKE = "/auth/login", "/auth/authorize", "/auth/account", "/auth/account/applications/revoke"
_FORM = {"content-type": "application/x-www-form-urlencoded"}
_WORTHLESS = 12
"""Shorter than this is no secret of ours."""


class Secrets:
    """Everything that anybody held and that may stand nowhere in clear."""

    def __init__(self) -> None:
        self._texts: set[str] = set()

    def __len__(self) -> int:
        return len(self._texts)

    def note(self, *texts: str) -> None:
        for text in texts:
            assert len(text) >= _WORTHLESS, text
            self._texts.add(text)
            if text.count(".") == 2:
                # A token is as good as its signature; its first part is the same for all.
                self._texts.add(text.rpartition(".")[2])

    def note_tokens(self, answer: Mapping[str, Any]) -> None:
        self.note(*(answer[name] for name in ("access_token", "id_token", "refresh_token") if name in answer))

    def find_in(self, content: bytes) -> list[str]:
        """The beginnings of those that are there."""
        return [text[:8] for text in self._texts if text.encode() in content]

    def find_at(self, gateway: Gateway) -> dict[str, list[str]]:
        """Where in the log and in the files of the gateway; all but the headers that the demo leaves for curl."""
        files = [gateway.log_file, *files_of(gateway.data)]
        found = {file.name: self.find_in(file.read_bytes()) for file in files}
        return {name: texts for name, texts in found.items() if texts}


def files_of(data: Path) -> Iterator[Path]:
    for file in sorted(data.rglob("*")):
        if file.is_file() and file.parent != data / "as":
            yield file


class Visitor:
    """A person at a browser that runs no script: follows redirects, reads pages, fills in forms."""

    def __init__(self, gateway: Gateway, email: str, secrets: Secrets) -> None:
        self._gateway = gateway
        self._secrets = secrets
        self.email = email
        self.password = gateway.people[email].password
        self.http = httpx.Client(base_url=gateway.base_url, trust_env=False, verify=False, timeout=PATIENCE)
        secrets.note(self.password)

    def close(self) -> None:
        self.http.close()

    def open(self, url: str) -> httpx.Response:
        return self._follow(self.http.get(url))

    def submit(self, action: str, pairs: Pairs) -> httpx.Response:
        return self._follow(self.http.post(action, content=urlencode(pairs), headers=_FORM))

    def let_in(self, authorization_url: str, *, only: Sequence[str] | None = None, decision: str = "allow") -> str:
        """Log in and decide where asked to. The address at which the application is called back.

        `only`: the scopes that are left ticked; None is all of them.
        """
        answer = self._pass_login(self.open(authorization_url))
        if not answer.is_redirect:
            assert answer.status_code == 200, answer.text
            answer = self._decide(answer.text, only, decision)
        assert answer.is_redirect, answer.text
        callback = answer.headers["location"]
        given = dict(parse_qsl(urlsplit(callback).query))
        self._secrets.note(*(given[name] for name in ("code",) if name in given))
        return str(callback)

    def open_account(self) -> str:
        answer = self._pass_login(self.open(ACCOUNT))
        assert answer.status_code == 200, answer.text
        return answer.text

    def revoke(self, client_id: str) -> str:
        """Press the button beside the application. The page afterwards."""
        (form,) = [
            form
            for form in FormReader(self.open_account()).forms
            if form.action == REVOKE and ("client_id", client_id) in form.fields
        ]
        answer = self.submit(REVOKE, form.press())
        assert answer.status_code == 200, answer.text
        return answer.text

    def is_logged_in(self) -> bool:
        return self.open(ACCOUNT).url.path == ACCOUNT

    def _pass_login(self, answer: httpx.Response) -> httpx.Response:
        if answer.is_redirect or answer.url.path != LOGIN:
            return answer
        form = the_form(answer.text, LOGIN)
        form.fill(email=self.email, password=self.password)
        entered = self.submit(LOGIN, form.press())
        assert entered.is_redirect or entered.url.path != LOGIN, entered.text
        return entered

    def _decide(self, page: str, only: Sequence[str] | None, decision: str) -> httpx.Response:
        form = the_form(page, AUTHORIZE)
        for name, scope in list(form.fields):
            if only is not None and name == "scope" and scope not in (*only, "openid"):
                form.untick(name, scope)
        return self.submit(AUTHORIZE, form.press("decision", decision))

    def _follow(self, answer: httpx.Response) -> httpx.Response:
        """Up to a page, or to where the gateway sends the browser away."""
        while answer.is_redirect:
            target = urljoin(str(answer.url), answer.headers["location"])
            if not target.startswith(f"{self._gateway.base_url}/"):
                break
            answer = self.http.get(target)
        self._secrets.note(*(value for value in self.http.cookies.values() if len(value) >= _WORTHLESS))
        return answer


# --- operations of the families ------------------------------------------------------------------------------------------

Send = Callable[[str, str, dict[str, str], bytes | None], int]
"""Method, URL, headers without Authorization, body: the status. Each client sends its token in its own way."""


def find_target(gateway: Gateway, operation: Operation, email: str) -> Target | None:
    """Something of this person's that the operation can be asked about and that answers."""
    if operation.name == "E19":
        return {"reference": gateway.estate.references()[0]}
    if not operation.about_a_plant:
        return {}
    for plant in gateway.estate.active_plants_of(email):
        for target in targets_in(plant, operation):
            if not any(gateway.estate.unreachable(module) for module in asked_of(plant, target)):
                return target
    return None


def call_everything(gateway: Gateway, email: str, by_kind: Mapping[str, Send]) -> dict[str, int]:
    """Every operation that this person has something for, with the kind of token that it wants; with both where either does.

    Fails unless each of the nine families has answered with success.
    """
    answers: dict[str, int] = {}
    reached: set[str] = set()
    for operation in OPERATIONS:
        target = find_target(gateway, operation, email)
        if target is None:
            continue
        for kind in ("access", "id") if operation.token == "either" else (operation.token,):
            status = call(gateway, operation, target, by_kind[kind])
            answers[f"{operation} with {kind} token"] = status
            reached |= {operation.prefix} if status == 200 else set()
    assert {name for name, status in answers.items() if status not in (200, 204)} == set(), answers
    assert reached == set(PREFIXES), answers
    return answers


def call(gateway: Gateway, operation: Operation, target: Target, send: Send) -> int:
    headers = {KEY_HEADER: gateway.subscription_key}
    if operation.body is not None:
        headers["Content-Type"] = "application/json"
    return send(operation.method, gateway.base_url + operation.url(target), headers, operation.body)


# --- an application without any library --------------------------------------------------------------------------------


class PlainApp:
    """Speaks OAuth as the specification shows it (Spec 5): forms, with the client's id and secret among the fields."""

    def __init__(self, gateway: Gateway, secrets: Secrets, client_id: str = "demo-app") -> None:
        known = next(client for client in gateway.ready["clients"] if client["client_id"] == client_id)
        self.gateway = gateway
        self.redirect_uri = str(known["redirect_uris"][0])
        self.credentials = {"client_id": client_id}
        if known["client_secret"]:
            self.credentials["client_secret"] = known["client_secret"]
            secrets.note(known["client_secret"])
        self.http = httpx.Client(base_url=gateway.base_url, trust_env=False, verify=False, timeout=PATIENCE)
        self._secrets = secrets
        self.verifier = ""

    def close(self) -> None:
        self.http.close()

    def authorization_url(self, scope: str = EVERYTHING, **more: str) -> str:
        self.verifier = secrets.token_urlsafe(48)
        self._secrets.note(self.verifier)
        query = {
            "response_type": "code",
            "client_id": self.credentials["client_id"],
            "redirect_uri": self.redirect_uri,
            "scope": scope,
            "state": secrets.token_urlsafe(),
            "code_challenge": challenge_of(self.verifier),
            "code_challenge_method": "S256",
            **more,
        }
        return f"{self.gateway.auth_url}/authorize?{urlencode(query)}"

    def redemption(self, callback: str) -> dict[str, str]:
        """The form that redeems the code of this callback."""
        given = dict(parse_qsl(urlsplit(callback).query))
        return {
            "grant_type": "authorization_code",
            "code": given["code"],
            "redirect_uri": self.redirect_uri,
            "code_verifier": self.verifier,
            **self.credentials,
        }

    def refreshment(self, refresh_token: str) -> dict[str, str]:
        """Spec 5: grant_type, client_id, client_secret, refresh_token."""
        return {"grant_type": "refresh_token", "refresh_token": refresh_token, **self.credentials}

    def ask_token(self, form: Mapping[str, str]) -> httpx.Response:
        answer = self.http.post("/auth/token", data=dict(form))
        return self.note(answer)

    def note(self, answer: httpx.Response) -> httpx.Response:
        """What it holds from now on."""
        if answer.status_code == 200:
            self._secrets.note_tokens(answer.json())
        return answer

    def get_tokens(self, visitor: Visitor, *, only: Sequence[str] | None = None, **request: str) -> dict[str, Any]:
        """The whole way: a person lets it in, and it redeems the code."""
        answer = self.ask_token(self.redemption(visitor.let_in(self.authorization_url(**request), only=only)))
        assert answer.status_code == 200, answer.text
        tokens: dict[str, Any] = answer.json()
        return tokens

    def bearer(self, token: str) -> Send:
        def send(method: str, url: str, headers: dict[str, str], body: bytes | None) -> int:
            sent = {**headers, "Authorization": f"Bearer {token}"}
            return self.http.request(method, url, headers=sent, content=body).status_code

        return send
