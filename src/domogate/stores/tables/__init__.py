"""The tables as the code uses them. Only `migrations/` creates the tables in the database.

Times are seconds since the epoch. Lists, and values whose form depends on a kind or a driver, are JSON text (`codec.py`).
"""

from domogate.stores.tables._metadata import metadata
from domogate.stores.tables.devices import hourly_readings, injections, orders, raw_readings, series
from domogate.stores.tables.feed import address, changes, clock, gateways
from domogate.stores.tables.identity import (
    attempts,
    audit,
    authorization_codes,
    clients,
    external_accounts,
    grants,
    links,
    passkeys,
    pseudonyms,
    recovery_codes,
    refresh_tokens,
    secret_key,
    sessions,
    signing_keys,
    subscriptions,
    totp_steps,
    usages,
    users,
)
from domogate.stores.tables.notices import logbook, parked, used_tickets, webhooks
from domogate.stores.tables.plants import (
    ambients,
    favourites,
    floors,
    invitations,
    members,
    modules,
    plants,
    spare_parts,
    states,
)

__all__ = [
    "address",
    "ambients",
    "attempts",
    "audit",
    "authorization_codes",
    "changes",
    "clients",
    "clock",
    "external_accounts",
    "favourites",
    "floors",
    "gateways",
    "grants",
    "hourly_readings",
    "injections",
    "invitations",
    "links",
    "logbook",
    "members",
    "metadata",
    "modules",
    "orders",
    "parked",
    "passkeys",
    "plants",
    "pseudonyms",
    "raw_readings",
    "recovery_codes",
    "refresh_tokens",
    "secret_key",
    "series",
    "sessions",
    "signing_keys",
    "spare_parts",
    "states",
    "subscriptions",
    "totp_steps",
    "usages",
    "used_tickets",
    "users",
    "webhooks",
]
