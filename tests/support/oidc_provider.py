"""The npm package `oidc-provider`, a provider that others wrote, run as a process of its own on loopback.

It is installed on first use, as its lock file pins it, into .dev/node; later runs need no network.
"""

import base64
import contextlib
import fcntl
import hashlib
import json
import re
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx

_ROOT = Path(__file__).parents[2]
_SOURCE = _ROOT / "tests" / "external"
_PINNED = ("package.json", "package-lock.json", ".npmrc")
REDIRECT_URI = "https://app.example/callback"


@dataclass
class OidcProvider:
    """A running provider, at which people log in as a browser would have them do."""

    url: str

    def log_in(
        self, login: str, *, client_id: str = "their-app", scope: str = "openid email", resource: str | None = None
    ) -> dict[str, Any]:
        """Authorization code with PKCE, through its own pages; what its token endpoint answers with."""
        verifier = secrets.token_urlsafe(32)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        named = {} if resource is None else {"resource": resource}
        with httpx.Client(base_url=self.url, trust_env=False, timeout=20) as browser:
            answer = browser.get(
                "/auth",
                params={
                    "client_id": client_id,
                    "response_type": "code",
                    "redirect_uri": REDIRECT_URI,
                    "scope": scope,
                    "nonce": secrets.token_urlsafe(),
                    "code_challenge": challenge,
                    "code_challenge_method": "S256",
                    **named,
                },
            )
            exchange = {
                "grant_type": "authorization_code",
                "code": self._go_on(browser, answer, login),
                "redirect_uri": REDIRECT_URI,
                "code_verifier": verifier,
                "client_id": client_id,
                "client_secret": f"secret of {client_id}",
                **named,
            }
            tokens: dict[str, Any] = browser.post("/token", data=exchange).raise_for_status().json()
            return tokens

    def _go_on(self, browser: httpx.Client, answer: httpx.Response, login: str) -> str:
        """Follow redirects and fill in forms until the browser is sent to the application with a code."""
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
        raise AssertionError("the provider leads nowhere")


def _install() -> Path:
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            raise AssertionError(f"{program} is needed for the tests with a provider that others wrote (Debian: nodejs, npm)")
    pinned = hashlib.sha256(b"".join((_SOURCE / name).read_bytes() for name in _PINNED)).hexdigest()[:16]
    folder = _ROOT / ".dev" / "node" / f"external-issuer-{pinned}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / "external-issuer.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run in several processes
        if not (folder / "installed").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            for name in _PINNED:
                shutil.copy(_SOURCE / name, folder / name)
            done = subprocess.run(["npm", "ci"], cwd=folder, capture_output=True, text=True, timeout=300)
            assert done.returncode == 0, f"npm ci failed; the first run needs a package registry\n{done.stderr}"
            (folder / "installed").touch()
    shutil.copy(_SOURCE / "provider.mjs", folder / "provider.mjs")
    return folder


@contextmanager
def oidc_provider() -> Iterator[OidcProvider]:
    folder = _install()
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
