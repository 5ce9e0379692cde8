"""One gateway and one Home Assistant for all tests of this folder."""

import json
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import httpx
import pytest

from domogate.estate.resources import demo_text
from integrations.homeassistant.environment import NotInstalled, find_python
from support.estate_view import read_yaml
from support.gateway import Gateway, import_estate
from support.home_assistant import HomeAssistant, home_assistant
from support.http import PATIENCE
from support.ports import free_port
from support.relying_party import PersonBrowser, Secrets
from support.restartable import RestartableGateway, clean_environment

ANNA, BRUNO = "anna@example.com", "bruno@example.com"
DARIO, ELENA = "dario@example.com", "elena@example.com"
_SCOPES = "openid home.use audiovideoterminal.read"
# The client refreshes a token 30 seconds before it expires, so it refreshes the tokens every few seconds.
_SETTINGS = {"DOMOGATE_ACCESS_TOKEN_LIFETIME": "40", "DOMOGATE_ID_TOKEN_LIFETIME": "40"}

_COUNTER = 'domogate_requests_total{api="home"'


class Setup:
    """A gateway, and a Home Assistant that is registered there as an application."""

    def __init__(self, restartable: RestartableGateway, home: HomeAssistant) -> None:
        self._restartable = restartable
        self._metrics_port = restartable.environment["DOMOGATE_METRICS_PORT"]
        self.gateway: Gateway = restartable.start()
        self.home = home
        self._register()

    def _register(self) -> None:
        """Register Home Assistant at the gateway, and enter the id and the secret in Home Assistant."""
        command = ["client", "add", "home-assistant", "--name", "Home Assistant", "--json"]
        told = json.loads(self.gateway.domogate(*command, "--redirect-uri", self.home.redirect_uri, "--scope", _SCOPES))
        self.home.tell(
            "application_credentials/create", domain="domogate", client_id="home-assistant", client_secret=told["secret"]
        )

    def close(self) -> None:
        if "_api" in self.__dict__:
            self._api.close()
        self.gateway.stop()

    def stop_gateway(self) -> None:
        self.gateway.stop()

    def start_gateway(self) -> None:
        self.gateway = self._restartable.start()

    # --- the gateway, as another application of Anna sees it -----------------------------------------------------------

    @cached_property
    def _api(self) -> httpx.Client:
        """The home API."""
        self.gateway.domogate("client", "add", "other-app", "--scope", _SCOPES)
        who = ["--user", ANNA, "--client", "other-app", "--kind", "access", "--lifetime", "12h"]
        token = self.gateway.domogate("token", "issue", *who, "--public-url", self.gateway.base_url).strip()
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.Client(base_url=f"{self.gateway.base_url}/home/v1", headers=headers, trust_env=False, timeout=PATIENCE)

    @cached_property
    def _places(self) -> dict[str, tuple[str, str]]:
        """The ids of the home and of the module, by the name of the module."""
        homes = [self._api.get(f"/homes/{home['id']}").json() for home in self._api.get("/homes").json()["items"]]
        return {module["name"]: (home["id"], module["id"]) for home in homes for module in home["modules"]}

    def module(self, name: str) -> dict[str, Any]:
        """A module of Anna's homes, as the gateway shows it now."""
        home_id, module_id = self._places[name]
        found: dict[str, Any] = self._api.get(f"/homes/{home_id}/modules/{module_id}").json()
        return found

    def command(self, name: str, command: dict[str, Any]) -> dict[str, Any]:
        """Send a command to a module, past Home Assistant: somebody uses the switch at the wall. Returns how it ended."""
        home_id, module_id = self._places[name]
        answer = self._api.post(f"/homes/{home_id}/modules/{module_id}/commands", json=command)
        result: dict[str, Any] = answer.json()
        assert result["outcome"] == "confirmed", answer.text
        return result

    def count_reads(self) -> float:
        """The requests to the home API that the gateway has answered, without commands."""
        metrics = httpx.get(f"http://127.0.0.1:{self._metrics_port}/metrics", trust_env=False, timeout=PATIENCE).text
        counted = [line for line in metrics.splitlines() if line.startswith(_COUNTER) and "commandModule" not in line]
        assert counted
        return sum(float(line.rpartition(" ")[2]) for line in counted)

    def commands_of(self, name: str) -> list[str]:
        """The commands that people sent to the module."""
        home_id, module_id = self._places[name]
        recent = self._api.get(f"/homes/{home_id}/events/recent").json()["items"]
        return [event["command"]["do"] for event in recent if event["kind"] == "command" and event["moduleId"] == module_id]

    # --- dialogs --------------------------------------------------------------------------------------------------------

    def visit(self, email: str) -> PersonBrowser:
        return PersonBrowser(self.gateway, email, Secrets())

    def enter_gateway(self) -> dict[str, Any]:
        """Open the dialog that adds the gateway, and send its form. Returns the step that leads to the login."""
        form = self.home.begin_flow()
        return self.home.send_form(form, url=f"{self.gateway.base_url}/", subscription_key=self.gateway.subscription_key)

    def log_in(self, step: dict[str, Any], email: str, **decision: Any) -> dict[str, Any]:
        """Log in at the pages of the gateway, with the address of the step. Returns the last step of the dialog."""
        assert step["type"] == "external", step
        browser = self.visit(email)
        callback = browser.grant_access(step["url"], **decision)
        browser.close()
        return self.home.return_from_login(step, callback)

    def add(self, email: str, **decision: Any) -> dict[str, Any]:
        """Go through the whole dialog that adds the gateway."""
        return self.log_in(self.enter_gateway(), email, **decision)


@pytest.fixture(scope="session")
def setup(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Setup]:
    """Anna has added the gateway."""
    try:
        find_python()
    except NotInstalled as reason:
        pytest.skip(str(reason))
    folder = tmp_path_factory.mktemp("home-assistant")
    environment = clean_environment({**_SETTINGS, "DOMOGATE_METRICS_PORT": str(free_port())})
    estate = read_yaml(demo_text())
    import_estate(estate, folder, folder / "data", environment)
    users = [{**user, "id_token": "-", "access_token": "-"} for user in estate["users"] if "password" in user]
    known = {"users": users, "subscription_key": estate["subscriptions"][0]["key"]}
    with home_assistant(folder) as home:
        assert home.begin_flow()["reason"] == "missing_credentials"
        setup = Setup(RestartableGateway(folder, environment, known=known), home)
        try:
            assert setup.add(ANNA)["type"] == "create_entry"
            yield setup
        finally:
            setup.close()
        assert home.find_errors() == []
