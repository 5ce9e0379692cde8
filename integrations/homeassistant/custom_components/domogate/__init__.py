"""Domogate: the devices of a gateway for connected homes and buildings."""

from homeassistant.config_entries import ConfigEntry
from homeassistant.const import Platform
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import ConfigEntryAuthFailed

from .const import DOMAIN
from .coordinator import DomogateCoordinator
from .oauth import open_client, revoke_tokens

PLATFORMS = [
    Platform.BINARY_SENSOR,
    Platform.BUTTON,
    Platform.CAMERA,
    Platform.CLIMATE,
    Platform.COVER,
    Platform.LIGHT,
    Platform.LOCK,
    Platform.SCENE,
    Platform.SENSOR,
    Platform.SWITCH,
]


async def async_setup_entry(hass: HomeAssistant, entry: ConfigEntry) -> bool:
    """Read the homes, add their devices, and follow the events."""
    try:
        client = await open_client(hass, entry)
    except ValueError as error:
        raise ConfigEntryAuthFailed("The application credentials were removed.") from error
    coordinator = DomogateCoordinator(hass, entry, client)
    await coordinator.async_config_entry_first_refresh()
    hass.data.setdefault(DOMAIN, {})[entry.entry_id] = coordinator
    await hass.config_entries.async_forward_entry_setups(entry, PLATFORMS)
    coordinator.start()
    return True


async def async_unload_entry(hass: HomeAssistant, entry: ConfigEntry) -> bool:
    """Remove the entities. Home Assistant ends the task that follows the events."""
    is_unloaded: bool = await hass.config_entries.async_unload_platforms(entry, PLATFORMS)
    if is_unloaded:
        hass.data[DOMAIN].pop(entry.entry_id)
    return is_unloaded


async def async_remove_entry(hass: HomeAssistant, entry: ConfigEntry) -> None:
    """End the access of Home Assistant at the gateway."""
    await revoke_tokens(hass, entry)
