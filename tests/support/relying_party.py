"""Tools for tests with OAuth libraries: a person's browser, and calls of operations with the tokens.

The libraries speak the protocol. `PlainApp` is for tests that need requests exactly as in the specification.
"""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

import httpx

from support.estate_view import asked_of, targets_in
from support.forms import Pairs, forms_of, the_form
from support.gateway import Gateway
from support.http import KEY_HEADER, PATIENCE
from support.pkce import challenge_of
from support.spec_operations import ALL_SCOPES, OPERATIONS, PREFIXES, Operation, Target

EVERYTHING = " ".join(("openid", "profile", "email", *ALL_SCOPES))
FAREWELL = "http://127.0.0.1:8090/bye"
LOGIN, AUTHORIZE, ACCOUNT, REVOKE = "/auth/login", "/auth/authorize", "/auth/account", "/auth/account/applications/revoke"
_FORM = {"content-type": "application/x-www-form-urlencoded"}
_SHORTEST_SECRET = 12
"""Our secrets are at least this long."""


class Secrets:
    """All secrets that were used. None of them may be in a log or a file."""

    def __init__(self) -> None:
        self._texts: set[str] = set()

    def __len__(self) -> int:
        return len(self._texts)

    def note(self, *texts: str) -> None:
        for text in texts:
            assert len(text) >= _SHORTEST_SECRET, text
            self._texts.add(text)
            if text.count(".") == 2:
                # Search for the signature: the first part is the same in all tokens.
                self._texts.add(text.rpartition(".")[2])

    def note_tokens(self, answer: Mapping[str, Any]) -> None:
        self.note(*(answer[name] for name in ("access_token", "id_token", "refresh_token") if name in answer))

    def find_in(self, content: bytes) -> list[str]:
        """The first characters of the secrets in the content."""
        return [text[:8] for text in self._texts if text.encode() in content]

    def find_at(self, gateway: Gateway) -> dict[str, list[str]]:
        """Secrets by file, in the log and the files of the gateway without the demo's header files for curl."""
        files = [gateway.log_file, *files_of(gateway.data)]
        found = {file.name: self.find_in(file.read_bytes()) for file in files}
        return {name: texts for name, texts in found.items() if texts}


def files_of(data: Path) -> Iterator[Path]:
    for file in sorted(data.rglob("*")):
        if file.is_file() and file.parent != data / "as":
            yield file


class PersonBrowser:
    """A person with a browser without scripts: follows redirects, reads pages, fills in forms."""

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

    def grant_access(self, authorization_url: str, *, only: Sequence[str] | None = None, decision: str = "allow") -> str:
        """Log in and decide. Returns the URL of the redirect to the application.

        `only`: the scopes that stay ticked; None for all.
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
        """Press the button of the application. Returns the next page."""
        (form,) = [
            form for form in forms_of(self.open_account()) if form.action == REVOKE and ("client_id", client_id) in form.pairs
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
        """`only` None: the person allows all that is asked for, also what the page does not tick."""
        form = the_form(page, AUTHORIZE)
        for name, scope in list(form.unticked):
            if name == "scope" and (only is None or scope in only):
                form.tick(name, scope)
        for name, scope in list(form.pairs):
            if only is not None and name == "scope" and scope not in (*only, "openid"):
                form.untick(name, scope)
        return self.submit(AUTHORIZE, form.press("decision", decision))

    def _follow(self, answer: httpx.Response) -> httpx.Response:
        """Follow redirects within the gateway."""
        while answer.is_redirect:
            target = urljoin(str(answer.url), answer.headers["location"])
            if not target.startswith(f"{self._gateway.base_url}/"):
                break
            answer = self.http.get(target)
        self._secrets.note(*(value for value in self.http.cookies.values() if len(value) >= _SHORTEST_SECRET))
        return answer


# --- operations of the families ------------------------------------------------------------------------------------------

Send = Callable[[str, str, dict[str, str], bytes | None], int]
"""Method, URL, headers without Authorization, body -> status. Each client adds its token itself."""


def find_target(gateway: Gateway, operation: Operation, email: str) -> Target | None:
    """A reachable target of this person for the operation."""
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
    """Call every operation for which this person has a target, with each kind of token that it accepts.

    Fails unless each of the nine families has responded with success.
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
    """Uses OAuth as in the specification (Spec 5): forms that contain the client's id and secret."""

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

    def redeem_form(self, callback: str) -> dict[str, str]:
        """The form that redeems the code of this callback."""
        given = dict(parse_qsl(urlsplit(callback).query))
        return {
            "grant_type": "authorization_code",
            "code": given["code"],
            "redirect_uri": self.redirect_uri,
            "code_verifier": self.verifier,
            **self.credentials,
        }

    def refresh_form(self, refresh_token: str) -> dict[str, str]:
        """Spec 5: grant_type, client_id, client_secret, refresh_token."""
        return {"grant_type": "refresh_token", "refresh_token": refresh_token, **self.credentials}

    def ask_token(self, form: Mapping[str, str]) -> httpx.Response:
        answer = self.http.post("/auth/token", data=dict(form))
        return self.note(answer)

    def note(self, answer: httpx.Response) -> httpx.Response:
        """Note the tokens of the response as secrets."""
        if answer.status_code == 200:
            self._secrets.note_tokens(answer.json())
        return answer

    def get_tokens(self, visitor: PersonBrowser, *, only: Sequence[str] | None = None, **request: str) -> dict[str, Any]:
        """The whole flow: the person gives access, and the application redeems the code."""
        answer = self.ask_token(self.redeem_form(visitor.grant_access(self.authorization_url(**request), only=only)))
        assert answer.status_code == 200, answer.text
        tokens: dict[str, Any] = answer.json()
        return tokens

    def bearer(self, token: str) -> Send:
        def send(method: str, url: str, headers: dict[str, str], body: bytes | None) -> int:
            sent = {**headers, "Authorization": f"Bearer {token}"}
            return self.http.request(method, url, headers=sent, content=body).status_code

        return send
