"""Thermostats: modes, set points and weekly programs."""

from collections.abc import Iterator
from typing import Any

from homeassistant.components.climate import (
    ATTR_HVAC_MODE,
    PRESET_BOOST,
    PRESET_NONE,
    ClimateEntity,
    ClimateEntityFeature,
    HVACAction,
    HVACMode,
)
from homeassistant.config_entries import ConfigEntry
from homeassistant.const import ATTR_TEMPERATURE, PRECISION_TENTHS, UnitOfTemperature
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddEntitiesCallback
from homeassistant.util.unit_conversion import TemperatureConverter
from msgspec import UNSET
from msgspec.structs import replace

from domogate_client.models.commands import SetThermostat
from domogate_client.models.home import Module
from domogate_client.models.states import ThermostatState

from .coordinator import DomogateCoordinator
from .entity import DomogateEntity, add_entities

_NONE: str = PRESET_NONE
_PRESETS = {PRESET_BOOST: SetThermostat(mode="boost"), "protection": SetThermostat(mode="protection")}
_COMMANDS = {
    HVACMode.OFF: SetThermostat(mode="off"),
    HVACMode.AUTO: SetThermostat(mode="automatic"),
    HVACMode.HEAT: SetThermostat(mode="manual", function="heating"),
    HVACMode.COOL: SetThermostat(mode="manual", function="cooling"),
}


async def async_setup_entry(hass: HomeAssistant, entry: ConfigEntry, async_add_entities: AddEntitiesCallback) -> None:
    """Add the thermostats."""
    add_entities(hass, entry, async_add_entities, _make)


def _make(coordinator: DomogateCoordinator, module: Module) -> Iterator[ClimateEntity]:
    if module.kind == "chronothermostat":
        yield DomogateThermostat(coordinator, module.id)


class DomogateThermostat(DomogateEntity[ThermostatState], ClimateEntity):
    """A thermostat. Its weekly programs are presets, like boost and protection."""

    _attr_hvac_modes = list(_COMMANDS)
    _attr_max_temp = 40.0
    _attr_min_temp = 3.0
    _attr_precision = PRECISION_TENTHS
    _attr_supported_features = (
        ClimateEntityFeature.TARGET_TEMPERATURE
        | ClimateEntityFeature.PRESET_MODE
        | ClimateEntityFeature.TURN_ON
        | ClimateEntityFeature.TURN_OFF
    )
    _attr_target_temperature_step = 0.5
    _attr_temperature_unit = UnitOfTemperature.CELSIUS
    _attr_translation_key = "thermostat"
    _enable_turn_on_off_backwards_compatibility = False

    @property
    def hvac_mode(self) -> HVACMode:
        state = self.state_of_module
        if state.mode == "off":
            return HVACMode.OFF
        if state.mode == "automatic":
            return HVACMode.AUTO
        return HVACMode.COOL if state.function == "cooling" else HVACMode.HEAT

    @property
    def hvac_action(self) -> HVACAction:
        state = self.state_of_module
        if state.mode == "off":
            return HVACAction.OFF
        if not state.load_active:
            return HVACAction.IDLE
        return HVACAction.COOLING if state.function == "cooling" else HVACAction.HEATING

    @property
    def current_temperature(self) -> float | None:
        reading = self.state_of_module.temperature
        if reading is None or reading.unit != "F":
            return None if reading is None else reading.value
        celsius: float = TemperatureConverter.convert(reading.value, UnitOfTemperature.FAHRENHEIT, UnitOfTemperature.CELSIUS)
        return celsius

    @property
    def current_humidity(self) -> int | None:
        reading = self.state_of_module.humidity
        return None if reading is None else round(reading.value)

    @property
    def target_temperature(self) -> float | None:
        state = self.state_of_module
        return None if state.mode in ("off", "boost") else state.set_point

    @property
    def preset_modes(self) -> list[str]:
        return [_NONE, *_PRESETS, *self._programs]

    @property
    def _programs(self) -> dict[str, int]:
        """The number of each weekly program, by the name of its preset.

        If another preset already has the name of the program, the name of the preset also has the number of the program.
        """
        found: dict[str, int] = {}
        for program in self.module.programs:
            is_taken = program.name in (_NONE, *_PRESETS, *found)
            found[f"{program.name} ({program.number})" if is_taken else program.name] = program.number
        return found

    @property
    def preset_mode(self) -> str:
        state = self.state_of_module
        if state.mode == "automatic":
            return next((preset for preset, number in self._programs.items() if number == state.program), _NONE)
        return next((preset for preset, command in _PRESETS.items() if command.mode == state.mode), _NONE)

    async def async_set_hvac_mode(self, hvac_mode: HVACMode) -> None:
        """Set the mode. Heating and cooling are the manual mode of the thermostat."""
        await self.send(_COMMANDS[hvac_mode])

    async def async_set_temperature(self, **kwargs: Any) -> None:
        """Set the set point. In the automatic mode it is valid until the next period of the program."""
        mode = kwargs.get(ATTR_HVAC_MODE)
        command = SetThermostat() if mode is None else _COMMANDS[mode]
        await self.send(replace(command, set_point=kwargs.get(ATTR_TEMPERATURE, UNSET)))

    async def async_set_preset_mode(self, preset_mode: str) -> None:
        """Set boost, protection or a weekly program. Without a preset, the thermostat returns to its former mode."""
        if preset_mode in _PRESETS:
            await self.send(_PRESETS[preset_mode])
        elif preset_mode in self._programs:
            await self.send(SetThermostat(mode="automatic", program=self._programs[preset_mode]))
        else:
            await self.send(SetThermostat(mode="manual" if self.state_of_module.former_mode == "manual" else "automatic"))

    async def async_turn_on(self) -> None:
        """Follow the weekly program."""
        await self.async_set_hvac_mode(HVACMode.AUTO)

    async def async_turn_off(self) -> None:
        """Switch the thermostat off."""
        await self.async_set_hvac_mode(HVACMode.OFF)
