"""A passkey at a gateway in its own process: added, used after a restart, in a backup, and removed by an operator."""

import json
import weakref
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.authenticator import Authenticator
from support.forms import passkey_options, the_form
from support.gateway import Gateway, running, serve_estate, start
from support.http import PATIENCE

pytestmark = pytest.mark.slow

PERSON, PASSWORD = "person@example.com", "a good long password"
LOGIN, ACCOUNT = "/auth/login/passkey", "/auth/account/passkeys"
SETTINGS = {"DOMOGATE_HOST": "localhost"}
"""Browsers offer passkeys at localhost, but not at an IP address."""


class Visitor:
    """A browser, and a device with a passkey."""

    def __init__(self, gateway: Gateway, device: Authenticator) -> None:
        self.http = httpx.Client(base_url=gateway.base_url, trust_env=False, timeout=PATIENCE)
        weakref.finalize(self, self.http.close)
        self.device = device
        device.origin = gateway.base_url

    def send(self, page: str, action: str, **values: str) -> httpx.Response:
        return self.http.post(action, data={**the_form(page, action).fields, **values})

    def log_in(self) -> int:
        page = self.http.get("/auth/login").text
        return self.send(page, LOGIN, answer=self.device.get(passkey_options(page, LOGIN))).status_code

    def add_passkey(self) -> None:
        self.send(self.http.get("/auth/login").text, "/auth/login", email=PERSON, password=PASSWORD)
        page = self.http.get(ACCOUNT).text
        answer = self.device.create(passkey_options(page, ACCOUNT))
        assert "Recovery codes" in self.send(page, ACCOUNT, name="Phone", answer=answer).text


def shown(gateway: Gateway) -> dict[str, Any]:
    user: dict[str, Any] = json.loads(gateway.domogate("user", "show", PERSON, "--json"))
    return user


def test_a_passkey_works_after_a_restart_and_a_restore_and_ends_with_the_reset(tmp_path: Path) -> None:
    device = Authenticator()
    estate = {"users": [{"email": PERSON, "password": PASSWORD}]}
    with running(serve_estate(estate, tmp_path / "first", SETTINGS)) as gateway:
        Visitor(gateway, device).add_passkey()
        gateway.domogate("backup", str(tmp_path / "backup"))
    with running(start("serve", tmp_path / "first", SETTINGS)) as gateway:
        assert Visitor(gateway, device).log_in() == 303
        assert [one["name"] for one in shown(gateway)["passkeys"]] == ["Phone"]
        gateway.domogate("user", "second-factor-reset", PERSON)
        assert Visitor(gateway, device).log_in() == 403
    for file in gateway.data.glob("domogate.sqlite3*"):
        file.unlink()
    gateway.domogate("restore", str(tmp_path / "backup"))
    with running(start("serve", tmp_path / "first", SETTINGS)) as gateway:
        assert Visitor(gateway, device).log_in() == 303
