"""Locks. They lock again by themselves."""

from collections.abc import Iterator
from typing import Any

from homeassistant.components.lock import LockEntity, LockEntityFeature
from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.entity_platform import AddEntitiesCallback

from domogate_client.models.commands import OpenLock
from domogate_client.models.home import Module
from domogate_client.models.states import LockState

from .coordinator import DomogateCoordinator
from .entity import DomogateEntity, add_entities


async def async_setup_entry(hass: HomeAssistant, entry: ConfigEntry, async_add_entities: AddEntitiesCallback) -> None:
    """Add the locks."""
    add_entities(hass, entry, async_add_entities, _make)


def _make(coordinator: DomogateCoordinator, module: Module) -> Iterator[LockEntity]:
    if module.kind == "lock":
        yield DomogateLock(coordinator, module.id)


class DomogateLock(DomogateEntity[LockState], LockEntity):
    """A lock of a door."""

    _attr_supported_features = LockEntityFeature.OPEN

    @property
    def is_locked(self) -> bool:
        return self.state_of_module.locked

    async def async_unlock(self, **_kwargs: Any) -> None:
        """Open the door."""
        await self.send(OpenLock())

    async def async_open(self, **_kwargs: Any) -> None:
        """Open the door."""
        await self.send(OpenLock())

    async def async_lock(self, **_kwargs: Any) -> None:
        """There is no command to lock."""
        raise HomeAssistantError(f"{self.module.name} locks by itself.")
