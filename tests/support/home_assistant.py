"""A real Home Assistant as a process, used through its HTTP and websocket APIs, as its own pages use them."""

import asyncio
import json
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import httpx

from integrations.homeassistant import environment
from support.gateway import eventually
from support.http import PATIENCE
from support.ports import free_port

_START_DEADLINE = 240.0
_PARTS = ("api", "websocket_api", "config", "application_credentials", "diagnostics")
_FLOW = "/api/config/config_entries/flow"
_ENTRY = "/api/config/config_entries/entry"
_EXPECTED_ERRORS = ("ERROR:custom_components.domogate:", "ERROR:homeassistant.components.websocket_api.http.connection:")

State = dict[str, Any]


class HomeAssistant:
    """A running Home Assistant. `log` is what it wrote to its log."""

    def __init__(self, port: int, access_token: str, config: Path, log_file: Path) -> None:
        self.base_url = f"http://127.0.0.1:{port}"
        self._token = access_token
        self._config = config
        self._log_file = log_file
        headers = {"Authorization": f"Bearer {access_token}", "HA-Frontend-Base": self.base_url}
        self._http = httpx.Client(base_url=self.base_url, headers=headers, trust_env=False, timeout=PATIENCE)

    @property
    def log(self) -> str:
        return self._log_file.read_text(errors="replace")

    def find_errors(self) -> list[str]:
        """The errors in the log, without the refusals and lost connections that tests cause."""
        errors = [line for line in self.log.splitlines() if line.startswith("ERROR:")]
        return [line for line in errors if not line.startswith(_EXPECTED_ERRORS)]

    @property
    def redirect_uri(self) -> str:
        return f"{self.base_url}/auth/external/callback"

    def close(self) -> None:
        self._http.close()

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request of an administrator. An answer with an error fails the test."""
        answer = self._http.request(method, path, json=body)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}\n{self.log[-4000:]}"
        return answer.json() if answer.content else None

    def get_bytes(self, path: str) -> tuple[str, bytes]:
        """The media type and the content of an answer."""
        answer = self._http.get(path)
        assert answer.is_success, f"{path}: {answer.status_code} {answer.text}"
        return answer.headers["content-type"], answer.content

    def tell(self, command: str, **fields: Any) -> Any:
        """Send a command over the websocket API and return its result."""
        answer = asyncio.run(self._talk({"id": 1, "type": command, **fields}))
        assert answer["success"], answer
        return answer["result"]

    async def _talk(self, message: Mapping[str, Any]) -> dict[str, Any]:
        async with aiohttp.ClientSession() as session, session.ws_connect(f"{self.base_url}/api/websocket") as socket:
            assert (await socket.receive_json())["type"] == "auth_required"
            await socket.send_json({"type": "auth", "access_token": self._token})
            assert (await socket.receive_json())["type"] == "auth_ok"
            await socket.send_json(message)
            answer: dict[str, Any] = await socket.receive_json()
            return answer

    # --- states and services ------------------------------------------------------------------------------------------

    def states(self) -> dict[str, State]:
        return {state["entity_id"]: state for state in self.request("GET", "/api/states")}

    def state(self, entity_id: str) -> State:
        found: State = self.request("GET", f"/api/states/{entity_id}")
        return found

    def wait_for(self, entity_id: str, state: str) -> State:
        """Wait until the entity has this state."""
        eventually(lambda: self.state(entity_id)["state"] == state, f"{entity_id} is {state}")
        return self.state(entity_id)

    def call(self, service: str, entity_id: str, **fields: Any) -> None:
        """Call a service of an entity: `light.turn_on`."""
        self.request("POST", f"/api/services/{service.replace('.', '/')}", {"entity_id": entity_id, **fields})

    def refuse(self, service: str, entity_id: str) -> str:
        """Call a service of an entity that fails. Returns the message for the person."""
        domain, _, name = service.partition(".")
        message = {"id": 1, "type": "call_service", "domain": domain, "service": name, "target": {"entity_id": entity_id}}
        answer = asyncio.run(self._talk(message))
        assert not answer["success"], answer
        return str(answer["error"]["message"])

    # --- config flows and entries --------------------------------------------------------------------------------------

    def begin_flow(self) -> dict[str, Any]:
        """Open the dialog that adds the integration."""
        step: dict[str, Any] = self.request("POST", _FLOW, {"handler": "domogate"})
        return step

    def send_form(self, step: Mapping[str, Any], **fields: str) -> dict[str, Any]:
        """Send the form of a step and return the next step."""
        following: dict[str, Any] = self.request("POST", f"{_FLOW}/{step['flow_id']}", fields)
        return following

    def return_from_login(self, step: Mapping[str, Any], callback: str) -> dict[str, Any]:
        """The browser of the person returns to Home Assistant. Returns the last step."""
        assert callback.startswith(self.redirect_uri)
        assert httpx.get(callback, trust_env=False, timeout=PATIENCE).is_success
        following: dict[str, Any] = self.request("GET", f"{_FLOW}/{step['flow_id']}")
        return following

    def entries(self) -> dict[str, dict[str, Any]]:
        """The config entries of the integration by title."""
        return {entry["title"]: entry for entry in self.request("GET", _ENTRY) if entry["domain"] == "domogate"}

    def read_stored_tokens(self, title: str) -> dict[str, Any]:
        """The tokens in the file of Home Assistant. It writes the file a second after a change."""
        eventually(lambda: title in self._read_stored_entries(), f"Home Assistant has stored the entry {title}")
        return dict(self._read_stored_entries()[title]["token"])

    def _read_stored_entries(self) -> dict[str, dict[str, Any]]:
        """The data of the entries by title. There is no file before the first entry is stored."""
        file = self._config / ".storage" / "core.config_entries"
        stored = json.loads(file.read_text())["data"]["entries"] if file.exists() else []
        return {entry["title"]: entry["data"] for entry in stored}

    def open_flows(self) -> list[dict[str, Any]]:
        """Dialogs that Home Assistant has opened by itself, for example because a login ended."""
        found: list[dict[str, Any]] = self.tell("config_entries/flow/progress")
        return found

    def remove_entry(self, entry_id: str) -> None:
        self.request("DELETE", f"{_ENTRY}/{entry_id}")

    def reload_entry(self, entry_id: str) -> None:
        self.request("POST", f"{_ENTRY}/{entry_id}/reload")


@contextmanager
def home_assistant(folder: Path) -> Iterator[HomeAssistant]:
    """Start Home Assistant with the integration, and stop it at the end."""
    config, ready, log_file, port = (
        folder / "config",
        folder / "home-assistant.json",
        folder / "home-assistant.log",
        free_port(),
    )
    shutil.copytree(environment.CUSTOM_COMPONENTS, config / "custom_components", ignore=shutil.ignore_patterns("__pycache__"))
    command = environment.command(config, ready, port, _PARTS)
    with log_file.open("wb") as log:
        process = subprocess.Popen(command, env=environment.variables(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + _START_DEADLINE
        while not ready.exists():
            assert process.poll() is None, f"Home Assistant ended:\n{log_file.read_text()[-4000:]}"
            assert time.monotonic() < deadline, f"Home Assistant did not start:\n{log_file.read_text()[-4000:]}"
            time.sleep(0.05)
        home = HomeAssistant(port, json.loads(ready.read_text())["access_token"], config, log_file)
        try:
            yield home
        finally:
            home.close()
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
