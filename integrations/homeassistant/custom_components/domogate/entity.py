"""The code that all entities of the integration share."""

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar, cast

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.device_registry import DeviceInfo
from homeassistant.helpers.entity_platform import AddEntitiesCallback
from homeassistant.helpers.update_coordinator import CoordinatorEntity

from domogate_client.models.commands import Command
from domogate_client.models.home import Module

from .const import DOMAIN
from .coordinator import DomogateCoordinator, Place

S = TypeVar("S")
"""The class of the state of a module."""


class DomogateEntity(CoordinatorEntity[DomogateCoordinator], Generic[S]):
    """An entity of one module. `part` distinguishes the entities of the same module."""

    _attr_has_entity_name = True

    def __init__(self, coordinator: DomogateCoordinator, module_id: str, part: str = "") -> None:
        super().__init__(coordinator)
        self._module_id = module_id
        self._last: Place = coordinator.data[module_id]
        self._shown: tuple[Place | None, bool] | None = None
        # Two people may have added the same gateway, and see the same module.
        person = coordinator.config_entry.unique_id
        self._attr_unique_id = f"{person}-{module_id}-{part}" if part else f"{person}-{module_id}"
        if not part:
            self._attr_name = None  # the entity has the name of its device
        self._attr_device_info = _describe(coordinator.data[module_id])

    @property
    def place(self) -> Place:
        """The module and its home as they are now, or as they were last if the module was removed."""
        self._last = self.coordinator.data.get(self._module_id, self._last)
        return self._last

    @property
    def module(self) -> Module:
        return self.place.module

    @property
    def state_of_module(self) -> S:
        """The last known state. It is not None while the entity is available."""
        return cast(S, self.module.state)

    @property
    def available(self) -> bool:
        place = self.coordinator.data.get(self._module_id)
        return super().available and place is not None and place.module.reachable and place.module.state is not None

    async def send(self, command: Command) -> None:
        """Send a command to the module."""
        await self.coordinator.command(self.place, command)

    @callback
    def _handle_coordinator_update(self) -> None:
        # Each event of the gateway is about one module. The other entities have nothing to write.
        now = (self.coordinator.data.get(self._module_id), self.coordinator.last_update_success)
        if self._shown is None or now[0] is not self._shown[0] or now[1] != self._shown[1]:
            self._shown = now
            super()._handle_coordinator_update()


def _describe(place: Place) -> DeviceInfo:
    module = place.module
    return DeviceInfo(
        identifiers={(DOMAIN, module.id)},
        name=module.name,
        manufacturer="Domogate",
        model=f"{module.kind} (simulated)" if module.simulated else module.kind,
        suggested_area=place.room,
        via_device=(DOMAIN, place.home.id),
    )


Make = Callable[[DomogateCoordinator, Module], Iterable[Any]]
"""Makes the entities of a module, for one platform."""


@callback
def add_entities(hass: HomeAssistant, entry: ConfigEntry, add: AddEntitiesCallback, make: Make) -> None:
    """Add the entities of all modules, and later the entities of modules that are new."""
    coordinator: DomogateCoordinator = hass.data[DOMAIN][entry.entry_id]
    known: set[str] = set()

    @callback
    def add_new() -> None:
        new = []
        known.intersection_update(coordinator.data)
        for module in [place.module for identity, place in coordinator.data.items() if identity not in known]:
            made = list(make(coordinator, module))
            new += made
            # How many sockets a module has is known with its first state: until then it may get entities later.
            if made or module.state is not None:
                known.add(module.id)
        if new:
            add(new)

    add_new()
    entry.async_on_unload(coordinator.async_add_listener(add_new))
