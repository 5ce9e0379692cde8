"""Adds a gateway: its address and a subscription key, then the login of a person."""

import logging
from collections.abc import Mapping
from typing import Any

import voluptuous as vol
from homeassistant.config_entries import HANDLERS, ConfigEntry
from homeassistant.const import CONF_TOKEN, CONF_URL
from homeassistant.data_entry_flow import FlowResult
from homeassistant.helpers.config_entry_oauth2_flow import AbstractOAuth2FlowHandler, async_get_implementations
from yarl import URL

from domogate_client import AsyncClient, Session, Tokens
from domogate_client.errors import DomogateError
from domogate_client.faults import KeyRefused, TokenRefused

from .const import CONF_SUBSCRIPTION_KEY, DOMAIN, HOME_SCOPE, LOGGER
from .oauth import DomogateImplementation, make_client, read_tokens

_EXAMPLE = {"example": "https://gateway.example.com:8443"}
_KEY_FORM = vol.Schema({vol.Required(CONF_SUBSCRIPTION_KEY): str})
_FORM = vol.Schema({vol.Required(CONF_URL): str, vol.Required(CONF_SUBSCRIPTION_KEY): str})


@HANDLERS.register(DOMAIN)
class DomogateFlow(AbstractOAuth2FlowHandler):
    """The dialog that adds a gateway, or that logs in again."""

    DOMAIN = DOMAIN
    VERSION = 1

    def __init__(self) -> None:
        super().__init__()
        self._gateway: dict[str, str] = {}
        self._former: ConfigEntry | None = None

    @property
    def logger(self) -> logging.Logger:
        return LOGGER

    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> FlowResult:
        """Ask for the address and the key. Without application credentials, Home Assistant asks for them first."""
        if not await async_get_implementations(self.hass, DOMAIN):
            return self.async_abort(reason="missing_credentials")
        errors: dict[str, str] = {}
        if user_input is not None:
            url = _read_address(user_input[CONF_URL])
            self._gateway = {CONF_URL: url, CONF_SUBSCRIPTION_KEY: user_input[CONF_SUBSCRIPTION_KEY].strip()}
            errors = await self._find_mistakes() if url else {CONF_URL: "invalid_url"}
            if not errors:
                return await self.async_step_pick_implementation()
        form = self.add_suggested_values_to_schema(_FORM, user_input)
        return self.async_show_form(step_id="user", data_schema=form, errors=errors, description_placeholders=_EXAMPLE)

    async def async_step_auth(self, user_input: dict[str, Any] | None = None) -> FlowResult:
        """Send the browser to the gateway."""
        assert isinstance(self.flow_impl, DomogateImplementation)
        self.flow_impl.use_gateway(self._gateway[CONF_URL])
        return await super().async_step_auth(user_input)

    async def async_step_reauth(self, entry_data: Mapping[str, Any]) -> FlowResult:
        """Log in again, because the gateway does not accept the tokens or the subscription key any more."""
        self._former = self.hass.config_entries.async_get_entry(self.context["entry_id"])
        self._gateway = {name: entry_data[name] for name in (CONF_URL, CONF_SUBSCRIPTION_KEY)}
        return await self.async_step_reauth_confirm()

    async def async_step_reauth_confirm(self, user_input: dict[str, Any] | None = None) -> FlowResult:
        """Ask for the key again: the operator may have replaced it."""
        errors: dict[str, str] = {}
        if user_input is not None:
            self._gateway[CONF_SUBSCRIPTION_KEY] = user_input[CONF_SUBSCRIPTION_KEY].strip()
            if not (errors := await self._find_mistakes()):
                return await self.async_step_pick_implementation()
        form = self.add_suggested_values_to_schema(_KEY_FORM, self._gateway)
        where = {"url": self._gateway[CONF_URL]}
        return self.async_show_form(step_id="reauth_confirm", data_schema=form, errors=errors, description_placeholders=where)

    async def async_oauth_create_entry(self, data: dict[str, Any]) -> FlowResult:
        """Store the tokens. A person can be added once for each gateway."""
        tokens = read_tokens(data[CONF_TOKEN])
        if HOME_SCOPE not in tokens.scope.split():
            return self.async_abort(reason="missing_scope")
        try:
            me = await self._open_client(tokens).home.get_me()
        except DomogateError as error:
            LOGGER.warning("The gateway did not answer after the login: %s", error)
            return self.async_abort(reason="cannot_connect")
        await self.async_set_unique_id(me.id)
        if self._former is None:
            self._abort_if_unique_id_configured()
            return self.async_create_entry(title=me.name or me.email, data={**self._gateway, **data})
        if self._former.unique_id != me.id:
            return self.async_abort(reason="wrong_account")
        return self.async_update_reload_and_abort(self._former, data={**self._former.data, **self._gateway, **data})

    async def _find_mistakes(self) -> dict[str, str]:
        """Ask for the event stream with a wrong token. The answer says whether the gateway accepts the key."""
        client = self._open_client(Tokens(access_token="none"))
        try:
            async with client.events.listen() as stream:
                await anext(stream)
        except KeyRefused:
            return {CONF_SUBSCRIPTION_KEY: "invalid_key"}
        except TokenRefused:
            return {}
        except DomogateError as error:
            LOGGER.warning("The gateway did not answer: %s", error)
        return {"base": "cannot_connect"}

    def _open_client(self, tokens: Tokens) -> AsyncClient:
        session = Session(tokens=tokens)
        # A person waits for the answer, so a lost connection is tried only once more.
        return make_client(self.hass, self._gateway[CONF_URL], self._gateway[CONF_SUBSCRIPTION_KEY], session, reconnect_for=0)


def _read_address(text: str) -> str:
    """Return the address without a slash at its end, or an empty text if it is not an address."""
    try:
        url = URL(text.strip())
    except ValueError:
        return ""
    return str(url).rstrip("/") if url.scheme in ("http", "https") and url.host else ""
