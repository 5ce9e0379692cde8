"""Emergency lighting: failures and alerts."""

from collections.abc import Iterator

from homeassistant.components.binary_sensor import BinarySensorDeviceClass, BinarySensorEntity
from homeassistant.config_entries import ConfigEntry
from homeassistant.const import EntityCategory
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddEntitiesCallback

from domogate_client.models.home import Module
from domogate_client.models.states import EmergencyState

from .coordinator import DomogateCoordinator
from .entity import DomogateEntity, add_entities

_KINDS = ("emergency unit", "emergency controller")


async def async_setup_entry(hass: HomeAssistant, entry: ConfigEntry, async_add_entities: AddEntitiesCallback) -> None:
    """Add the binary sensors."""
    add_entities(hass, entry, async_add_entities, _make)


def _make(coordinator: DomogateCoordinator, module: Module) -> Iterator[BinarySensorEntity]:
    if module.kind in _KINDS:
        yield DomogateFailure(coordinator, module.id, "failure")
        yield DomogateAlert(coordinator, module.id, "alert")


class DomogateFailure(DomogateEntity[EmergencyState], BinarySensorEntity):
    """Whether the unit or controller has a failure."""

    _attr_device_class = BinarySensorDeviceClass.PROBLEM
    _attr_entity_category = EntityCategory.DIAGNOSTIC

    @property
    def _failures(self) -> list[str]:
        return [failure.type for failure in self.state_of_module.failures if not failure.type.endswith(".OK")]

    @property
    def is_on(self) -> bool:
        return bool(self._failures)

    @property
    def extra_state_attributes(self) -> dict[str, list[str]]:
        return {"failures": self._failures}


class DomogateAlert(DomogateEntity[EmergencyState], BinarySensorEntity):
    """Whether the unit reports an alert."""

    _attr_device_class = BinarySensorDeviceClass.SAFETY
    _attr_translation_key = "alert"

    @property
    def is_on(self) -> bool | None:
        return self.state_of_module.alert
