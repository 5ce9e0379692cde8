"""Shutters, blinds and doors that a motor moves."""

from collections.abc import Iterator
from typing import Any

from homeassistant.components.cover import ATTR_POSITION, CoverDeviceClass, CoverEntity, CoverEntityFeature
from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddEntitiesCallback

from domogate_client.models.commands import MoveShutter
from domogate_client.models.home import Module
from domogate_client.models.states import AutomationState

from .coordinator import DomogateCoordinator
from .entity import DomogateEntity, add_entities

_CLOSED, _OPEN = 0, 100


async def async_setup_entry(hass: HomeAssistant, entry: ConfigEntry, async_add_entities: AddEntitiesCallback) -> None:
    """Add the covers."""
    add_entities(hass, entry, async_add_entities, _make)


def _make(coordinator: DomogateCoordinator, module: Module) -> Iterator[CoverEntity]:
    if module.kind == "automation":
        yield DomogateCover(coordinator, module.id)


class DomogateCover(DomogateEntity[AutomationState], CoverEntity):
    """A shutter or blind. The gateway has no command to stop it, so it moves to a position."""

    _attr_device_class = CoverDeviceClass.SHUTTER
    _attr_supported_features = CoverEntityFeature.OPEN | CoverEntityFeature.CLOSE | CoverEntityFeature.SET_POSITION

    @property
    def current_cover_position(self) -> int:
        return self.state_of_module.position

    @property
    def is_closed(self) -> bool:
        return self.state_of_module.position == _CLOSED

    async def async_open_cover(self, **_kwargs: Any) -> None:
        """Open it."""
        await self.send(MoveShutter(position=_OPEN))

    async def async_close_cover(self, **_kwargs: Any) -> None:
        """Close it."""
        await self.send(MoveShutter(position=_CLOSED))

    async def async_set_cover_position(self, **kwargs: Any) -> None:
        """Move it to a position."""
        await self.send(MoveShutter(position=kwargs[ATTR_POSITION]))
