"""One gateway and one Home Assistant for all tests of this folder."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.gateway import Gateway, start
from support.home_assistant import HomeAssistant, home_assistant
from support.http import PATIENCE
from support.relying_party import PersonBrowser, Secrets

ANNA, BRUNO = "anna@example.com", "bruno@example.com"
_SCOPES = "openid home.use audiovideoterminal.read"


@dataclass
class Setup:
    """A gateway, and a Home Assistant that is registered there as an application."""

    gateway: Gateway
    home: HomeAssistant
    secrets: Secrets

    @cached_property
    def _api(self) -> httpx.Client:
        """The home API, as another application of Anna uses it."""
        token = self.gateway.domogate(
            "token", "issue", "--user", ANNA, "--client", "home-assistant", "--kind", "access"
        ).strip()
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.Client(base_url=f"{self.gateway.base_url}/home/v1", headers=headers, trust_env=False, timeout=PATIENCE)

    def close(self) -> None:
        if "_api" in self.__dict__:
            self._api.close()

    def module(self, name: str) -> dict[str, Any]:
        """A module of Anna's homes, as the gateway shows it now."""
        return self._find(name)[1]

    def command(self, name: str, command: dict[str, Any]) -> None:
        """Send a command to a module, past Home Assistant."""
        home_id, module = self._find(name)
        answer = self._api.post(f"/homes/{home_id}/modules/{module['id']}/commands", json=command)
        assert answer.json()["outcome"] == "confirmed", answer.text

    def _find(self, name: str) -> tuple[str, dict[str, Any]]:
        for home in self._api.get("/homes").json()["items"]:
            for module in self._api.get(f"/homes/{home['id']}").json()["modules"]:
                if module["name"] == name:
                    return home["id"], module
        raise AssertionError(f"there is no {name}")

    def visit(self, email: str) -> PersonBrowser:
        return PersonBrowser(self.gateway, email, self.secrets)

    def log_in(self, step: dict[str, Any], email: str, **decision: Any) -> dict[str, Any]:
        """Log in at the pages of the gateway, with the address of the step. Returns the last step of the dialog."""
        assert step["type"] == "external", step
        browser = self.visit(email)
        callback = browser.grant_access(step["url"], **decision)
        browser.close()
        return self.home.return_from_login(step, callback)

    def add(self, email: str, **decision: Any) -> dict[str, Any]:
        """Go through the whole dialog that adds the gateway."""
        form = self.home.begin_flow()
        key = self.gateway.subscription_key
        step = self.home.send_form(form, url=self.gateway.base_url, subscription_key=key)
        return self.log_in(step, email, **decision)


def _register(gateway: Gateway, home: HomeAssistant) -> None:
    """Register Home Assistant at the gateway, and enter the id and the secret in Home Assistant."""
    command = ["client", "add", "home-assistant", "--name", "Home Assistant", "--json"]
    told = json.loads(gateway.domogate(*command, "--redirect-uri", home.redirect_uri, "--scope", _SCOPES))
    home.tell("application_credentials/create", domain="domogate", client_id="home-assistant", client_secret=told["secret"])


@pytest.fixture(scope="session")
def setup(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Setup]:
    """Anna has added the gateway."""
    folder: Path = tmp_path_factory.mktemp("home-assistant")
    gateway = start("demo", folder)
    try:
        with home_assistant(folder) as home:
            assert home.begin_flow()["reason"] == "missing_credentials"
            _register(gateway, home)
            setup = Setup(gateway, home, Secrets())
            try:
                assert setup.add(ANNA)["type"] == "create_entry"
                yield setup
            finally:
                setup.close()
            assert home.find_errors() == []
    finally:
        gateway.stop()
