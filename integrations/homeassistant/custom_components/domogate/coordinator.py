"""Reads the homes of a person once, and then follows the event stream of the gateway."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from homeassistant.config_entries import ConfigEntry
from homeassistant.const import CONF_URL
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import ConfigEntryAuthFailed, HomeAssistantError
from homeassistant.helpers import device_registry
from homeassistant.helpers.update_coordinator import DataUpdateCoordinator, UpdateFailed
from msgspec.structs import replace

from domogate_client import AsyncClient
from domogate_client.errors import AccountBlocked, CredentialsRefused, DomogateError, LoginRequired, NoAnswer, StreamEnded
from domogate_client.events import ModuleEvent, PlantEvent, StreamItem
from domogate_client.models.commands import Command
from domogate_client.models.events import Ready
from domogate_client.models.home import Module, WholeHome

from .const import DOMAIN, LOGGER

_PAUSE = 30.0
"""Seconds before a new attempt, if the homes could not be read, or the stream was refused for another reason than the login."""
_NEEDS_LOGIN = (LoginRequired, CredentialsRefused, AccountBlocked)
"""The person must log in again. The gateway then also asks for a new password or for the terms, if that is the reason."""


class _NotRead(DomogateError):
    """The homes could not be read after an event. A new connection begins with `Ready`, and they are read again."""


@dataclass(frozen=True)
class Place:
    """A module, with the home and the room in which it is."""

    home: WholeHome
    room: str | None
    module: Module


class DomogateCoordinator(DataUpdateCoordinator[dict[str, Place]]):
    """All modules of a person by id. `client` sends the requests."""

    config_entry: ConfigEntry

    def __init__(self, hass: HomeAssistant, entry: ConfigEntry, client: AsyncClient) -> None:
        super().__init__(hass, LOGGER, name=entry.title)
        self.client = client
        self.homes: list[WholeHome] = []
        self._cursor: str | None = None

    async def _async_update_data(self) -> dict[str, Place]:
        try:
            self.homes = [await self.client.home.get_home(home.id) async for home in self.client.home.iterate_homes()]
        except _NEEDS_LOGIN as error:
            raise ConfigEntryAuthFailed(str(error)) from error
        except DomogateError as error:
            raise UpdateFailed(str(error)) from error
        self._register_homes()
        return {place.module.id: place for home in self.homes for place in _places_of(home)}

    def start(self) -> None:
        """Follow the event stream until Home Assistant unloads the config entry."""
        self.config_entry.async_create_background_task(self.hass, self._follow(), f"events of {self.name}")

    async def command(self, place: Place, command: Command) -> None:
        """Send a command and wait until the device has executed it. An event shows the new state."""
        try:
            result = await self.client.home.command_module(place.home.id, place.module.id, command)
        except DomogateError as error:
            raise HomeAssistantError(f"{place.module.name}: {error}") from error
        if result.outcome != "confirmed":
            reason = f"the command was not confirmed ({result.outcome}). {result.detail or ''}"
            raise HomeAssistantError(f"{place.module.name}: {reason}")

    async def _follow(self) -> None:
        while True:
            try:
                async with self.client.events.listen(present=True, cursor=self._cursor) as stream:
                    async for item in stream:
                        await self._take(item)
                        self._cursor = stream.cursor
            except NoAnswer as error:
                self.async_set_update_error(error)
            except StreamEnded as error:
                if error.code != "plant":
                    self._ask_for_login(error)
                    return
            except _NEEDS_LOGIN as error:
                self._ask_for_login(error)
                return
            except DomogateError as error:
                self.async_set_update_error(error)
                await asyncio.sleep(_PAUSE)

    def _ask_for_login(self, error: DomogateError) -> None:
        self.async_set_update_error(error)
        self.config_entry.async_start_reauth(self.hass)

    async def _take(self, item: StreamItem) -> None:
        match item:
            case ModuleEvent(data=data) if data.module_id in self.data:
                place = self.data[data.module_id]
                module = replace(place.module, name=data.name, reachable=data.reachable, state=data.state)
                changed = Place(place.home, place.room, module)
                self.async_set_updated_data({**self.data, data.module_id: changed})
            case ModuleEvent() | PlantEvent() | Ready():
                # The rooms or the modules may have changed, also while there was no connection.
                await self.async_refresh()
                if not self.last_update_success:
                    raise _NotRead(str(self.last_exception))
                self._forget_removed()

    def _register_homes(self) -> None:
        """Make a device of each home, to which its modules and scenes belong."""
        registry = device_registry.async_get(self.hass)
        for home in self.homes:
            registry.async_get_or_create(
                config_entry_id=self.config_entry.entry_id,
                identifiers={(DOMAIN, home.id)},
                name=home.name,
                manufacturer="Domogate",
                model=home.type,
                entry_type=device_registry.DeviceEntryType.SERVICE,
                configuration_url=self.config_entry.data[CONF_URL],
            )

    def _forget_removed(self) -> None:
        """Remove the devices that the person cannot see any more."""
        known = {*self.data, *(home.id for home in self.homes)}
        registry = device_registry.async_get(self.hass)
        for device in device_registry.async_entries_for_config_entry(registry, self.config_entry.entry_id):
            if not any(domain == DOMAIN and identity in known for domain, identity in device.identifiers):
                registry.async_update_device(device.id, remove_config_entry_id=self.config_entry.entry_id)


def _places_of(home: WholeHome) -> Iterator[Place]:
    rooms = {room.id: room.name for room in (*home.rooms, *(room for floor in home.floors for room in floor.rooms))}
    for module in home.modules:
        yield Place(home, rooms.get(module.room_id or ""), module)
