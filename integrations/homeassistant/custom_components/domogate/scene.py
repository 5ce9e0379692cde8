"""Scenes that are stored in the gateway."""

from collections.abc import Iterator
from typing import Any

from homeassistant.components.scene import Scene
from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.device_registry import DeviceInfo
from homeassistant.helpers.entity_platform import AddEntitiesCallback

from domogate_client.errors import DomogateError
from domogate_client.models.home import Module

from .const import DOMAIN
from .coordinator import DomogateCoordinator
from .entity import DomogateEntity, add_entities


async def async_setup_entry(hass: HomeAssistant, entry: ConfigEntry, async_add_entities: AddEntitiesCallback) -> None:
    """Add the scenes."""
    add_entities(hass, entry, async_add_entities, _make)


def _make(coordinator: DomogateCoordinator, module: Module) -> Iterator[Scene]:
    if module.kind == "scene":
        yield DomogateScene(coordinator, module.id)


class DomogateScene(DomogateEntity[None], Scene):
    """A scene. It is an entity of its home, and it has no state."""

    def __init__(self, coordinator: DomogateCoordinator, module_id: str) -> None:
        super().__init__(coordinator, module_id)
        place = coordinator.data[module_id]
        self._attr_name = place.module.name
        self._attr_device_info = DeviceInfo(identifiers={(DOMAIN, place.home.id)})

    @property
    def available(self) -> bool:
        return self.coordinator.last_update_success and self._module_id in self.coordinator.data

    async def async_activate(self, **_kwargs: Any) -> None:
        """Run the scene."""
        try:
            await self.coordinator.client.home.run_scene(self.place.home.id, self.module.id)
        except DomogateError as error:
            raise HomeAssistantError(f"{self.module.name}: {error}") from error
