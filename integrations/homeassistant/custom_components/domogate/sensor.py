"""Measured values: power and energy, temperature and humidity, batteries, firmware."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from homeassistant.components.sensor import SensorDeviceClass, SensorEntity, SensorEntityDescription, SensorStateClass
from homeassistant.config_entries import ConfigEntry
from homeassistant.const import PERCENTAGE, EntityCategory, UnitOfEnergy, UnitOfPower, UnitOfTemperature
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddEntitiesCallback

from domogate_client.models.home import Module
from domogate_client.models.states import Reading

from .coordinator import DomogateCoordinator
from .entity import DomogateEntity, add_entities

_UNITS = {
    "%": PERCENTAGE,
    "C": UnitOfTemperature.CELSIUS,
    "F": UnitOfTemperature.FAHRENHEIT,
    "watt": UnitOfPower.WATT,
    "watt_hour": UnitOfEnergy.WATT_HOUR,
}
_BATTERIES = ["full", "high", "medium", "low", "very_low"]


@dataclass(frozen=True, kw_only=True)
class DomogateSensorDescription(SensorEntityDescription):
    """A value in the state of a module. `read` returns a reading with its unit, or the value itself."""

    read: Callable[[Any], Reading | str | int | None]


def _describe_reading(key: str, kind: SensorDeviceClass, meaning: SensorStateClass) -> DomogateSensorDescription:
    return DomogateSensorDescription(key=key, device_class=kind, state_class=meaning, read=lambda state: getattr(state, key))


_POWER = _describe_reading("power", SensorDeviceClass.POWER, SensorStateClass.MEASUREMENT)
# The counter of a plug begins again at 0 after 100000 watt-hours.
_ENERGY = _describe_reading("energy", SensorDeviceClass.ENERGY, SensorStateClass.TOTAL_INCREASING)
_FIRMWARE = DomogateSensorDescription(
    key="firmware", translation_key="firmware", entity_category=EntityCategory.DIAGNOSTIC, read=lambda state: state.firmware
)
_BATTERY = DomogateSensorDescription(
    key="battery",
    translation_key="battery_level",
    device_class=SensorDeviceClass.ENUM,
    entity_category=EntityCategory.DIAGNOSTIC,
    options=_BATTERIES,
    read=lambda state: state.battery if state.battery in _BATTERIES else None,
)
_CHARGE = DomogateSensorDescription(
    key="charge",
    device_class=SensorDeviceClass.BATTERY,
    state_class=SensorStateClass.MEASUREMENT,
    entity_category=EntityCategory.DIAGNOSTIC,
    native_unit_of_measurement=PERCENTAGE,
    read=lambda state: state.charge,
)
_OF_KIND = {
    "plug": (_POWER, _ENERGY),
    "energymeter": (_POWER, _ENERGY),
    "chronothermostat": (
        _describe_reading("temperature", SensorDeviceClass.TEMPERATURE, SensorStateClass.MEASUREMENT),
        _describe_reading("humidity", SensorDeviceClass.HUMIDITY, SensorStateClass.MEASUREMENT),
    ),
    "remote": (_BATTERY, _FIRMWARE),
    "gateway": (_FIRMWARE,),
    "emergency unit": (_CHARGE,),
}


async def async_setup_entry(hass: HomeAssistant, entry: ConfigEntry, async_add_entities: AddEntitiesCallback) -> None:
    """Add the sensors."""
    add_entities(hass, entry, async_add_entities, _make)


def _make(coordinator: DomogateCoordinator, module: Module) -> Iterator[SensorEntity]:
    for description in _OF_KIND.get(module.kind, ()):
        yield DomogateSensor(coordinator, module.id, description)


class DomogateSensor(DomogateEntity[Any], SensorEntity):
    """One value of a module."""

    entity_description: DomogateSensorDescription

    def __init__(self, coordinator: DomogateCoordinator, module_id: str, description: DomogateSensorDescription) -> None:
        super().__init__(coordinator, module_id, description.key)
        self.entity_description = description

    @property
    def _value(self) -> Reading | str | int | None:
        return None if self.module.state is None else self.entity_description.read(self.module.state)

    @property
    def native_value(self) -> float | str | int | None:
        value = self._value
        return value.value if isinstance(value, Reading) else value

    @property
    def native_unit_of_measurement(self) -> str | None:
        value = self._value
        if isinstance(value, Reading):
            return _UNITS.get(value.unit)
        unit: str | None = self.entity_description.native_unit_of_measurement
        return unit
