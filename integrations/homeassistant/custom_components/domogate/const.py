"""Names that several files of the integration use."""

import logging

DOMAIN = "domogate"
LOGGER = logging.getLogger(__package__)

CONF_SUBSCRIPTION_KEY = "subscription_key"

HOME_SCOPE = "home.use"
DOOR_SCOPE = "audiovideoterminal.read"
SCOPES = ("openid", HOME_SCOPE, DOOR_SCOPE)
"""A person may refuse the scope of doors. Then locks, relays and cameras are shown, but cannot be used."""
