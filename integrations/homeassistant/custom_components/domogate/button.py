"""Relays with a short pulse, such as gate openers."""

from collections.abc import Iterator

from homeassistant.components.button import ButtonEntity
from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddEntitiesCallback

from domogate_client.models.commands import Activate
from domogate_client.models.home import Module
from domogate_client.models.states import ActivationState

from .coordinator import DomogateCoordinator
from .entity import DomogateEntity, add_entities


async def async_setup_entry(hass: HomeAssistant, entry: ConfigEntry, async_add_entities: AddEntitiesCallback) -> None:
    """Add the buttons."""
    add_entities(hass, entry, async_add_entities, _make)


def _make(coordinator: DomogateCoordinator, module: Module) -> Iterator[ButtonEntity]:
    if module.kind == "activation":
        yield DomogateRelay(coordinator, module.id)


class DomogateRelay(DomogateEntity[ActivationState], ButtonEntity):
    """A relay."""

    async def async_press(self) -> None:
        """Activate the relay."""
        await self.send(Activate())
