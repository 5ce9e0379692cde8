"""The person who follows a page: opens the links of the gateway that a block prints, in a browser without scripts."""

import re
from urllib.parse import parse_qs, urlsplit

import httpx

from support.certification_browser import Browser
from support.forms import forms_of
from support.gateway import Gateway

PASSWORD = "the password of a reader 2026"


class Person:
    """Anna of the demo. She also sets the password of a new user with the printed link."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def look(self, printed: str) -> dict[str, str]:
        """Open each printed link to the pages for people. Return what the person learns: the code of a login."""
        known = {"PID": str(self._gateway.process.pid)}
        for url in re.findall(rf"{re.escape(self._gateway.auth_url)}/(?:authorize|password|logout)\?\S+", printed):
            answer = self._open(url)
            assert answer.status_code in (200, 303), answer.text
            if code := parse_qs(urlsplit(answer.headers.get("location", "")).query).get("code"):
                known["CODE"] = code[0]
        return known

    def _open(self, url: str) -> httpx.Response:
        browser = Browser(self._gateway)
        if urlsplit(url).path != "/auth/password":
            return browser.go(url)
        page = browser.open(url)
        (form,) = (form for form in forms_of(page.text) if "password" in form.fields)
        return browser.send(page, form, {name: PASSWORD for name in form.fields if name in ("password", "repeated")})
