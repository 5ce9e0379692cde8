"""Plugs, the sockets of multisockets, and electric heaters."""

from collections.abc import Iterator
from typing import Any

from homeassistant.components.switch import SwitchDeviceClass, SwitchEntity
from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddEntitiesCallback

from domogate_client.models.commands import SwitchHeater, SwitchPlug, SwitchSocket
from domogate_client.models.home import Module
from domogate_client.models.states import HeaterState, MultisocketState, PlugState

from .coordinator import DomogateCoordinator
from .entity import DomogateEntity, add_entities


async def async_setup_entry(hass: HomeAssistant, entry: ConfigEntry, async_add_entities: AddEntitiesCallback) -> None:
    """Add the switches."""
    add_entities(hass, entry, async_add_entities, _make)


def _make(coordinator: DomogateCoordinator, module: Module) -> Iterator[SwitchEntity]:
    match module.kind:
        case "plug":
            yield DomogatePlug(coordinator, module.id)
        case "heater":
            yield DomogateHeater(coordinator, module.id)
        case "multisocket" if isinstance(module.state, MultisocketState):
            for socket in range(len(module.state.sockets)):
                yield DomogateSocket(coordinator, module.id, socket)


class DomogatePlug(DomogateEntity[PlugState], SwitchEntity):
    """A plug."""

    _attr_device_class = SwitchDeviceClass.OUTLET

    @property
    def is_on(self) -> bool:
        return self.state_of_module.on

    async def async_turn_on(self, **_kwargs: Any) -> None:
        """Switch the plug on."""
        await self.send(SwitchPlug(on=True))

    async def async_turn_off(self, **_kwargs: Any) -> None:
        """Switch the plug off."""
        await self.send(SwitchPlug(on=False))


class DomogateHeater(DomogateEntity[HeaterState], SwitchEntity):
    """An electric heater without a thermostat."""

    @property
    def is_on(self) -> bool:
        return self.state_of_module.on

    async def async_turn_on(self, **_kwargs: Any) -> None:
        """Switch the heater on."""
        await self.send(SwitchHeater(on=True))

    async def async_turn_off(self, **_kwargs: Any) -> None:
        """Switch the heater off."""
        await self.send(SwitchHeater(on=False))


class DomogateSocket(DomogateEntity[MultisocketState], SwitchEntity):
    """One socket of a multisocket. The first socket of the gateway is 0; people count from 1."""

    _attr_device_class = SwitchDeviceClass.OUTLET
    _attr_translation_key = "socket"

    def __init__(self, coordinator: DomogateCoordinator, module_id: str, socket: int) -> None:
        super().__init__(coordinator, module_id, f"socket-{socket}")
        self._socket = socket
        self._attr_translation_placeholders = {"number": str(socket + 1)}

    @property
    def is_on(self) -> bool:
        sockets = self.state_of_module.sockets
        return self._socket < len(sockets) and sockets[self._socket]

    async def async_turn_on(self, **_kwargs: Any) -> None:
        """Switch the socket on."""
        await self.send(SwitchSocket(socket=self._socket, on=True))

    async def async_turn_off(self, **_kwargs: Any) -> None:
        """Switch the socket off."""
        await self.send(SwitchSocket(socket=self._socket, on=False))
