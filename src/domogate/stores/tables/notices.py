"""Webhooks with their pending deliveries, used tickets, and the logbooks of emergency lighting."""

from sqlalchemy import Column, Index, Integer, PrimaryKeyConstraint, Table

from domogate.stores import columns as col
from domogate.stores.tables._metadata import metadata

webhooks = Table(
    "webhooks",
    metadata,
    col.key("id"),
    *col.strings("client_id"),
    col.reference("user_id", "users.id", cascade=True),
    *col.strings("grant_id"),
    col.reference("plant_id", "plants.id", cascade=True),
    *col.texts("url"),
    *col.strings("secret"),
    *col.texts("kinds"),
    *col.texts("scopes"),
    *col.strings("form"),
    *col.doubles("created_at"),
    *col.cursors("position"),
    *col.optional_doubles("failing_since"),
    *col.integers("failures"),
    *col.doubles("next_at"),
    *col.texts("problem"),
    *col.optional_doubles("ended_at"),
    *col.texts("ended_why"),
    # The lease: the gateway that delivers, and the end of its lease.
    *col.strings("holder"),
    *col.doubles("held_until"),
    Index("ix_webhooks_plant_id", "plant_id"),
    Index("ix_webhooks_user_id", "user_id"),
    Index("ix_webhooks_client_id_user_id_plant_id_url", "client_id", "user_id", "plant_id", "url", unique=True),
)

# Pending deliveries. A row with `dead_at` is a dead letter. A row refers to its change by the cursor. `event` is empty until
# the change is pruned from the feed; then it is a copy of the event.
parked = Table(
    "parked",
    metadata,
    col.reference("webhook_id", "webhooks.id", cascade=True),
    *col.cursors("cursor"),
    *col.doubles("at"),
    *col.optional_strings("module_id"),
    *col.texts("event"),
    *col.integers("attempts"),
    *col.doubles("next_at"),
    *col.texts("problem"),
    *col.optional_doubles("dead_at"),
    PrimaryKeyConstraint("webhook_id", "cursor"),
    Index("ix_parked_dead_at", "dead_at"),
)
Index(
    "ix_parked_references",
    parked.c.cursor,
    sqlite_where=parked.c.event == "",
    postgresql_where=parked.c.event == "",
)

used_tickets = Table(
    "used_tickets",
    metadata,
    col.key("id"),
    *col.doubles("expires_at"),
    Index("ix_used_tickets_expires_at", "expires_at"),
)

# No foreign key to modules: the entry is kept when the unit is replaced.
logbook = Table(
    "logbook",
    metadata,
    Column("number", Integer, primary_key=True),
    col.reference("plant_id", "plants.id", cascade=True),
    *col.doubles("at"),
    *col.strings("kind"),
    *col.optional_strings("module_id"),
    *col.strings("module"),
    *col.optional_texts("test"),
    *col.optional_strings("failure"),
    *col.texts("words"),
    *col.strings("by"),
    *col.flags("simulated"),
    Index("ix_logbook_plant_id_at", "plant_id", "at"),
    sqlite_autoincrement=True,
)
