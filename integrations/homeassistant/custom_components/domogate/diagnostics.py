"""The file that a person downloads to report a problem. It has no secrets and no names."""

from typing import Any

import msgspec
from homeassistant.components.diagnostics import async_redact_data
from homeassistant.config_entries import ConfigEntry
from homeassistant.const import CONF_TOKEN, CONF_URL
from homeassistant.core import HomeAssistant

from domogate_client.models.home import WholeHome

from .const import CONF_SUBSCRIPTION_KEY, DOMAIN
from .coordinator import DomogateCoordinator, Place

_SECRETS = {CONF_TOKEN, CONF_SUBSCRIPTION_KEY, CONF_URL}
_NAMES = {"name", "programs"}


async def async_get_config_entry_diagnostics(hass: HomeAssistant, entry: ConfigEntry) -> dict[str, Any]:
    """Return the homes and modules, as the integration knows them."""
    coordinator: DomogateCoordinator = hass.data[DOMAIN][entry.entry_id]
    return {
        "entry": async_redact_data(dict(entry.data), _SECRETS),
        "scopes": entry.data[CONF_TOKEN].get("scope", ""),
        "connected": coordinator.last_update_success,
        "homes": [_describe_home(home) for home in coordinator.homes],
        "modules": [_describe_module(place) for place in coordinator.data.values()],
    }


def _describe_home(home: WholeHome) -> dict[str, Any]:
    rooms = len(home.rooms) + sum(len(floor.rooms) for floor in home.floors)
    return {"id": home.id, "type": home.type, "role": home.role, "floors": len(home.floors), "rooms": rooms}


def _describe_module(place: Place) -> dict[str, Any]:
    known: dict[str, Any] = msgspec.to_builtins(place.module)
    return {"home": place.home.id, **{name: value for name, value in known.items() if name not in _NAMES}}
