"""The OAuth client that an operator of the gateway registered for Home Assistant."""

from homeassistant.components.application_credentials import ClientCredential
from homeassistant.core import HomeAssistant

from .oauth import DomogateImplementation


async def async_get_auth_implementation(
    hass: HomeAssistant, auth_domain: str, credential: ClientCredential
) -> DomogateImplementation:
    """Return the login with this client. The config flow tells it the address of the gateway."""
    return DomogateImplementation(hass, auth_domain, credential)


async def async_get_description_placeholders(_hass: HomeAssistant) -> dict[str, str]:
    """Return the texts for the dialog in which a person enters the client."""
    return {"redirect_uri": "https://my.home-assistant.io/redirect/oauth"}
