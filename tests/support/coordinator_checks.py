"""Checks of the integration for Home Assistant with a gateway that fails at a chosen moment. Home Assistant's Python runs it.

    python coordinator_checks.py FOLDER DATA

FOLDER is the folder of the project, DATA is an empty folder for the files of Home Assistant. Prints the result of each check of
CHECKS as JSON: a traceback, or an empty text if the check has passed.
"""

import asyncio
import json
import sys
import tempfile
import traceback
from collections.abc import AsyncIterator, Callable, Coroutine
from types import SimpleNamespace
from typing import Any, cast

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import device_registry, entity_registry
from msgspec import UNSET

sys.path.insert(0, sys.argv[1])

from domogate_client import AsyncClient
from domogate_client.errors import GatewayFailed, NotFound
from domogate_client.events import ModuleEvent
from domogate_client.models.events import ModuleData, Ready
from domogate_client.models.home import Module, WholeHome
from domogate_client.models.home_common import Program
from domogate_client.models.states import MultisocketState, ThermostatState
from integrations.homeassistant.custom_components.domogate import camera, climate, scene, switch
from integrations.homeassistant.custom_components.domogate import coordinator as coordinator_module
from integrations.homeassistant.custom_components.domogate.const import DOMAIN

HOME, SOCKETS = "ca5a0001-0000-4000-8000-000000000000", "ca5a0001-0100-4000-8000-000000000009"
PATIENCE = 60.0


class FakeGateway:
    """A home with a multisocket that has not reported yet. `failures` reads fail first."""

    def __init__(self) -> None:
        self.failures = 0
        self.reads = 0
        self.items: asyncio.Queue[Any] = asyncio.Queue()
        self.module = _fill(Module, id=SOCKETS, kind="multisocket", name="Sockets", reachable=True, state=None)
        self.commands: list[Any] = []
        self.home = SimpleNamespace(
            iterate_homes=self._iterate_homes,
            get_home=self._get_home,
            command_module=self._command,
            get_picture=self._refuse,
            run_scene=self._refuse,
        )
        self.events = SimpleNamespace(listen=lambda **_: _Stream(self.items))

    async def _iterate_homes(self) -> AsyncIterator[SimpleNamespace]:
        yield SimpleNamespace(id=HOME)

    async def _get_home(self, _home_id: str) -> WholeHome:
        self.reads += 1
        if self.failures:
            self.failures -= 1
            raise GatewayFailed("The gateway failed.", status=500)
        home: WholeHome = _fill(WholeHome, id=HOME, name="Home", type="house", modules=[self.module], rooms=[], floors=[])
        return home

    async def _command(self, home_id: str, module_id: str, command: Any) -> SimpleNamespace:
        if module_id != self.module.id:
            await self._refuse(home_id, module_id)
        self.commands.append(command)
        return SimpleNamespace(outcome="confirmed")

    async def _refuse(self, _home_id: str, _module_id: str) -> None:
        raise NotFound("There is no such module.", status=404)


def _fill(of: Any, /, **fields: Any) -> Any:
    """An object of the client. The fields that a check does not need are None."""
    return of(**{**dict.fromkeys(of.__struct_fields__), **fields})


class _Stream:
    """Each connection begins with `ready`."""

    cursor = "1"

    def __init__(self, items: "asyncio.Queue[Any]") -> None:
        self._items = items
        self._begins = True

    async def __aenter__(self) -> "_Stream":
        return self

    async def __aexit__(self, *_error: object) -> None:
        pass

    def __aiter__(self) -> "_Stream":
        return self

    async def __anext__(self) -> Any:
        if self._begins:
            self._begins = False
            return Ready(cursor=1)
        return await self._items.get()


async def start(gateway: FakeGateway) -> tuple[HomeAssistant, ConfigEntry, Any]:
    """Return a Home Assistant without its pages, and the coordinator after its first read."""
    home = HomeAssistant(tempfile.mkdtemp(dir=sys.argv[2]))
    await device_registry.async_load(home)
    await entity_registry.async_load(home)
    entry = ConfigEntry(version=1, minor_version=1, domain=DOMAIN, title="Anna", data={"url": "http://gateway"}, source="user")
    home.config_entries = SimpleNamespace(async_get_entry=lambda _: entry)
    coordinator = coordinator_module.DomogateCoordinator(home, entry, cast(AsyncClient, gateway))
    coordinator.config_entry = entry
    await coordinator.async_refresh()
    assert coordinator.last_update_success, coordinator.last_exception
    home.data[DOMAIN] = {entry.entry_id: coordinator}
    return home, entry, coordinator


async def until(check: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not check():
            await asyncio.sleep(0.01)


async def a_failed_read_is_repeated() -> None:
    gateway = FakeGateway()
    _, _, coordinator = await start(gateway)
    pause, coordinator_module._PAUSE = coordinator_module._PAUSE, 0.05
    gateway.failures = 2
    coordinator.start()
    await until(lambda: gateway.reads > 1 and not coordinator.last_update_success)
    await until(lambda: coordinator.last_update_success)
    coordinator_module._PAUSE = pause


async def sockets_appear_with_the_first_state() -> None:
    gateway = FakeGateway()
    home, entry, coordinator = await start(gateway)
    added: list[Any] = []
    await switch.async_setup_entry(home, entry, added.extend)
    coordinator.start()
    await until(lambda: gateway.reads == 2)
    assert added == []
    state = MultisocketState(sockets=[True, False])
    data = _fill(ModuleData, module_id=SOCKETS, name="Sockets", reachable=True, state=state)
    for _ in range(2):
        await gateway.items.put(ModuleEvent(id="2", source="", type="domogate.state", subject="", time="", data=data))
    await until(lambda: gateway.items.empty())
    await until(lambda: bool(added))
    assert [entity.is_on for entity in added] == [True, False]


async def a_removed_module_is_refused_in_words() -> None:
    gateway = FakeGateway()
    _, _, coordinator = await start(gateway)
    socket = switch.DomogateSocket(coordinator, SOCKETS, 0)
    picture = camera.DomogateCamera(coordinator, SOCKETS)
    evening = scene.DomogateScene(coordinator, SOCKETS)
    gateway.module = _fill(Module, id="another", kind="light", name="Lamp", reachable=True, state=None)
    await coordinator.async_refresh()
    assert not any((socket.available, picture.available, evening.available))
    refusals = await asyncio.gather(socket.async_turn_on(), evening.async_activate(), return_exceptions=True)
    assert [type(refusal) for refusal in refusals] == [HomeAssistantError, HomeAssistantError]
    assert all("Sockets: There is no such module." in str(refusal) for refusal in refusals)
    assert await picture.async_camera_image() is None


async def programs_with_names_of_other_presets_can_be_chosen() -> None:
    gateway = FakeGateway()
    names = ["none", "boost", "Week", "Week"]
    programs = [Program(number=number, name=name) for number, name in enumerate(names, 1)]
    fields = {"id": SOCKETS, "kind": "chronothermostat", "name": "Bath", "reachable": True, "programs": programs}
    gateway.module = _fill(Module, **fields, state=_fill(ThermostatState, mode="automatic", program=4))
    _, _, coordinator = await start(gateway)
    thermostat = climate.DomogateThermostat(coordinator, SOCKETS)
    assert thermostat.preset_modes == ["none", "boost", "protection", "none (1)", "boost (2)", "Week", "Week (4)"]
    assert thermostat.preset_mode == "Week (4)"
    for preset in ("boost", "boost (2)", "Week (4)"):
        await thermostat.async_set_preset_mode(preset)
    assert [(command.mode, command.program) for command in gateway.commands] == [
        ("boost", UNSET),
        ("automatic", 2),
        ("automatic", 4),
    ]


CHECKS = (
    a_failed_read_is_repeated,
    sockets_appear_with_the_first_state,
    a_removed_module_is_refused_in_words,
    programs_with_names_of_other_presets_can_be_chosen,
)


def run(check: Callable[[], Coroutine[Any, Any, None]]) -> str:
    try:
        asyncio.run(check())
    except Exception:
        return traceback.format_exc()
    return ""


if __name__ == "__main__":
    sys.stdout.write(json.dumps({check.__name__: run(check) for check in CHECKS}))
