"""A browser without scripts: keeps cookies, follows redirects within the gateway, and submits the forms of pages."""

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

import httpx

from support.certification_apps import ANNA, FORM, client_of, password_of
from support.forms import Form, forms_of
from support.gateway import Gateway

LOGIN, CONSENT, LOGOUT = "login", "consent", "logout"
_ACTIONS = {"/auth/login": LOGIN, "/auth/authorize": CONSENT, "/auth/logout": LOGOUT}
_MOST_STEPS = 12


class Browser:
    """A person's browser. `seen` lists the pages with a question; tests clear it."""

    def __init__(self, gateway: Gateway, email: str = ANNA, password: str | None = None) -> None:
        self.gateway = gateway
        self.email = email
        self.password = password_of(gateway, email) if password is None else password
        self.http = client_of(self)
        self.seen: list[str] = []

    def open(self, path: str, parameters: Mapping[str, str] | None = None) -> httpx.Response:
        """The page after redirects within the gateway, or the redirect to another site."""
        return self._stay_inside(self.http.get(path, params=parameters))

    def go(
        self,
        path: str,
        parameters: Mapping[str, str] | None = None,
        *,
        post: bool = False,
        scopes: Sequence[str] | None = None,
        decision: str = "allow",
        plants: Sequence[str] | None = None,
    ) -> httpx.Response:
        """Log in and consent until the browser leaves the gateway or a page has no question.

        `scopes` None: all that are asked for. `plants` None: as the page ticks them.
        """
        if post:
            content = urlencode(dict(parameters or {}))
            answer = self._stay_inside(self.http.post(path, content=content, headers=FORM))
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
                answer = self._decide(answer, form, scopes, decision, plants)
            else:
                return answer
            if answer.status_code in (400, 403, 429) and question_of(answer) is not None:
                return answer
        raise AssertionError(f"the pages never stop asking: {self.seen}")

    def send(self, page: httpx.Response, form: Form, values: Mapping[str, str]) -> httpx.Response:
        """Submit the form of the page with these values."""
        content = urlencode({**form.fields, **values})
        return self._stay_inside(self.http.post(str(page.url.join(form.action)), content=content, headers=FORM))

    def log_in(self) -> None:
        answer = self.go("/auth/login")
        assert answer.status_code == 200, answer.text
        assert answer.url.path == "/auth/account"

    def _decide(
        self,
        page: httpx.Response,
        form: Form,
        scopes: Sequence[str] | None,
        decision: str,
        plants: Sequence[str] | None,
    ) -> httpx.Response:
        ticked = scopes_on(page) if scopes is None else scopes
        others = [(name, value) for name, value in form.pairs if name != "scope"]
        if plants is not None:
            others = [(name, value) for name, value in others if name != "plant"] + [("plant", plant) for plant in plants]
        content = urlencode([*others, *(("scope", scope) for scope in ticked), ("decision", decision)])
        return self._stay_inside(self.http.post(str(page.url.join(form.action)), content=content, headers=FORM))

    def _stay_inside(self, answer: httpx.Response) -> httpx.Response:
        for _ in range(_MOST_STEPS):
            target = answer.url.join(answer.headers.get("location", ""))
            if answer.status_code != 303 or not str(target).startswith(f"{self.gateway.base_url}/"):
                return answer
            answer = self.http.get(str(target))
        raise AssertionError("the redirects form a circle")


def question_of(answer: httpx.Response) -> Form | None:
    """The form by which the page asks for a login, a consent or a logout."""
    if "text/html" not in answer.headers.get("content-type", ""):
        return None
    return next((form for form in forms_of(answer.text) if form.action in _ACTIONS), None)


def scopes_on(page: httpx.Response) -> list[str]:
    """All scopes that a consent page offers."""
    return re.findall(r'name="scope" value="([^"]+)"', page.text)


def is_error_page(answer: httpx.Response) -> bool:
    """Whether it is the HTML error page for developers, without a redirect."""
    return (
        answer.status_code == 400
        and "text/html" in answer.headers["content-type"]
        and "location" not in answer.headers
        and "refresh" not in answer.headers
        and 'id="developer"' in answer.text
    )
