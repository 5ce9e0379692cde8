"""The login at a gateway, and where Home Assistant keeps the tokens."""

import secrets
from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import Any

import httpx
from homeassistant.components.application_credentials import AuthImplementation, AuthorizationServer, ClientCredential
from homeassistant.config_entries import ConfigEntry
from homeassistant.const import CONF_TOKEN, CONF_URL
from homeassistant.core import HomeAssistant
from homeassistant.helpers.config_entry_oauth2_flow import async_get_config_entry_implementation
from homeassistant.helpers.httpx_client import get_async_client

from domogate_client import AsyncClient, Session, Tokens

from .const import CONF_SUBSCRIPTION_KEY, LOGGER, SCOPES

RECONNECT_FOR = 5.0
"""The entities become unavailable if the event stream has no connection for this number of seconds."""
_REVOKE_TIMEOUT = 10.0


class DomogateImplementation(AuthImplementation):
    """The authorization code flow with PKCE (RFC 7636) at one gateway."""

    def __init__(self, hass: HomeAssistant, auth_domain: str, credential: ClientCredential) -> None:
        super().__init__(hass, auth_domain, credential, AuthorizationServer("", ""))
        self._verifier = secrets.token_urlsafe(48)

    def use_gateway(self, url: str) -> None:
        """Log in at the gateway with this address. Each gateway has its own login."""
        self.authorize_url = f"{url}/auth/authorize"
        self.token_url = f"{url}/auth/token"

    @property
    def extra_authorize_data(self) -> dict[str, Any]:
        challenge = urlsafe_b64encode(sha256(self._verifier.encode()).digest()).decode().rstrip("=")
        return {"scope": " ".join(SCOPES), "code_challenge": challenge, "code_challenge_method": "S256"}

    async def async_resolve_external_data(self, external_data: Any) -> dict[str, Any]:
        """Exchange the code for tokens."""
        fields = {
            "grant_type": "authorization_code",
            "code": external_data["code"],
            "redirect_uri": external_data["state"]["redirect_uri"],
            "code_verifier": self._verifier,
        }
        tokens: dict[str, Any] = await self._token_request(fields)
        return tokens


class EntryTokens:
    """Keeps the tokens in the config entry. Each refresh token works once, so the new tokens replace the old tokens.

    The methods are coroutines, because Home Assistant changes config entries only in its event loop.
    """

    def __init__(self, hass: HomeAssistant, entry: ConfigEntry) -> None:
        self._hass = hass
        self._entry = entry

    async def load(self) -> Tokens:
        return read_tokens(self._entry.data[CONF_TOKEN])

    async def save(self, tokens: Tokens) -> None:
        token = {
            "access_token": tokens.access_token,
            "refresh_token": tokens.refresh_token,
            "scope": tokens.scope,
            "expires_at": tokens.expires_at,
        }
        self._hass.config_entries.async_update_entry(self._entry, data={**self._entry.data, CONF_TOKEN: token})


def read_tokens(token: dict[str, Any]) -> Tokens:
    """Return the tokens of a config entry, or of an answer to a login. The integration does not use the id token."""
    return Tokens(
        access_token=token["access_token"],
        refresh_token=token["refresh_token"],
        scope=token.get("scope", ""),
        expires_at=token["expires_at"],
    )


def make_client(
    hass: HomeAssistant, url: str, subscription_key: str, session: Session, reconnect_for: float = RECONNECT_FOR
) -> AsyncClient:
    """Return a client that uses the connections and certificates of Home Assistant."""
    http = get_async_client(hass)
    return AsyncClient(
        url, subscription_key, http=http, session=session, reconnect_for=reconnect_for, user_agent="Home-Assistant"
    )


async def open_client(hass: HomeAssistant, entry: ConfigEntry) -> AsyncClient:
    """Return the client of a config entry. Raises ValueError if somebody removed the application credentials."""
    client = await async_get_config_entry_implementation(hass, entry)
    session = Session(client.client_id, client_secret=client.client_secret, store=EntryTokens(hass, entry))
    return make_client(hass, entry.data[CONF_URL], entry.data[CONF_SUBSCRIPTION_KEY], session)


async def revoke_tokens(hass: HomeAssistant, entry: ConfigEntry) -> None:
    """Revoke the tokens of a config entry (RFC 7009). Without an answer, the person can do it on the account page."""
    try:
        client = await async_get_config_entry_implementation(hass, entry)
        token = read_tokens(entry.data[CONF_TOKEN]).refresh_token
        form = {"token": token, "client_id": client.client_id, "client_secret": client.client_secret}
        answer = await get_async_client(hass).post(f"{entry.data[CONF_URL]}/auth/revoke", data=form, timeout=_REVOKE_TIMEOUT)
        answer.raise_for_status()
    except (ValueError, httpx.HTTPError) as error:
        LOGGER.warning("The tokens could not be revoked at the gateway: %s", error)
