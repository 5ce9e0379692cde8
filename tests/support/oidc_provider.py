"""The npm package `oidc-provider` in its own process on loopback."""

import contextlib
import json
import re
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx

from support.http import PATIENCE
from support.node_packages import ROOT, install
from support.pkce import challenge_of

_SOURCE = ROOT / "tests" / "external"
REDIRECT_URI = "https://app.example/callback"


@dataclass
class OidcProvider:
    """A running provider, with a login like in a browser."""

    url: str

    def log_in(
        self, login: str, *, client_id: str = "their-app", scope: str = "openid email", resource: str | None = None
    ) -> dict[str, Any]:
        """Log in through the pages of the provider, with an authorization code and PKCE. Return the token response."""
        verifier = secrets.token_urlsafe(32)
        named = {} if resource is None else {"resource": resource}
        with httpx.Client(base_url=self.url, trust_env=False, timeout=PATIENCE) as browser:
            answer = browser.get(
                "/auth",
                params={
                    "client_id": client_id,
                    "response_type": "code",
                    "redirect_uri": REDIRECT_URI,
                    "scope": scope,
                    "nonce": secrets.token_urlsafe(),
                    "code_challenge": challenge_of(verifier),
                    "code_challenge_method": "S256",
                    **named,
                },
            )
            exchange = {
                "grant_type": "authorization_code",
                "code": self._get_code(browser, answer, login),
                "redirect_uri": REDIRECT_URI,
                "code_verifier": verifier,
                "client_id": client_id,
                "client_secret": f"secret of {client_id}",
                **named,
            }
            tokens: dict[str, Any] = browser.post("/token", data=exchange).raise_for_status().json()
            return tokens

    def _get_code(self, browser: httpx.Client, answer: httpx.Response, login: str) -> str:
        """Follow redirects and fill in forms up to the redirect with a code."""
        for _ in range(20):
            if answer.is_redirect:
                target = urljoin(str(answer.url), answer.headers["location"])
                if target.startswith(REDIRECT_URI):
                    return parse_qs(urlsplit(target).query)["code"][0]
                answer = browser.get(target)
            else:
                answer.raise_for_status()
                form = re.search(r'<form[^>]*action="([^"]+)"', answer.text)
                prompt = re.search(r'name="prompt" value="(\w+)"', answer.text)
                assert form is not None, answer.text
                assert prompt is not None, answer.text
                filled = {"prompt": prompt[1], "login": login, "password": "anything"}
                answer = browser.post(form[1], data=filled)
        raise AssertionError("the provider gave no code")


@contextmanager
def oidc_provider() -> Iterator[OidcProvider]:
    folder = install(_SOURCE, "external-issuer", "provider.mjs")
    process = subprocess.Popen(
        ["node", "provider.mjs"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        for line in process.stdout:
            with contextlib.suppress(ValueError):
                yield OidcProvider(json.loads(line)["url"])
                break
        else:
            raise AssertionError("the provider did not start")
    finally:
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
