"""Lamps: on and off, with a level and a colour if the lamp has them."""

from collections.abc import Iterator
from typing import Any

from homeassistant.components.light import ATTR_BRIGHTNESS, ATTR_HS_COLOR, ColorMode, LightEntity
from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddEntitiesCallback
from msgspec import UNSET

from domogate_client.models.commands import HsvColor, SetLight
from domogate_client.models.home import Module
from domogate_client.models.states import LightState

from .coordinator import DomogateCoordinator
from .entity import DomogateEntity, add_entities

_BRIGHTEST = 255
_MOST = 100


async def async_setup_entry(hass: HomeAssistant, entry: ConfigEntry, async_add_entities: AddEntitiesCallback) -> None:
    """Add the lamps."""
    add_entities(hass, entry, async_add_entities, _make)


def _make(coordinator: DomogateCoordinator, module: Module) -> Iterator[LightEntity]:
    if module.kind == "light":
        yield DomogateLight(coordinator, module.id)


class DomogateLight(DomogateEntity[LightState], LightEntity):
    """A lamp."""

    @property
    def is_on(self) -> bool:
        return self.state_of_module.on

    @property
    def brightness(self) -> int | None:
        level = self.state_of_module.level
        return None if level is None else round(level * _BRIGHTEST / _MOST)

    @property
    def hs_color(self) -> tuple[float, float] | None:
        color = self.state_of_module.color
        return None if color is None else (color.hue, color.saturation)

    @property
    def color_mode(self) -> ColorMode:
        state = self.module.state
        if isinstance(state, LightState) and state.color is not None:
            return ColorMode.HS
        has_level = isinstance(state, LightState) and state.level is not None
        return ColorMode.BRIGHTNESS if has_level else ColorMode.ONOFF

    @property
    def supported_color_modes(self) -> set[ColorMode]:
        return {self.color_mode}

    async def async_turn_on(self, **kwargs: Any) -> None:
        """Switch the lamp on. Level and colour stay as they are, if they are not given."""
        brightness, color = kwargs.get(ATTR_BRIGHTNESS), kwargs.get(ATTR_HS_COLOR)
        former = self.state_of_module.color
        await self.send(
            SetLight(
                on=True,
                # A level of 0 would switch the lamp off.
                level=UNSET if brightness is None else max(1, round(brightness * _MOST / _BRIGHTEST)),
                color=UNSET
                if color is None
                else HsvColor(hue=color[0], saturation=color[1], value=_MOST if former is None else former.value),
            )
        )

    async def async_turn_off(self, **_kwargs: Any) -> None:
        """Switch the lamp off."""
        await self.send(SetLight(on=False))
