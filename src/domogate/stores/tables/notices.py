"""Tables with webhooks and their pending deliveries, used tickets, and the logbooks of emergency lighting."""

from sqlalchemy import Boolean, Column, Index, Integer, PrimaryKeyConstraint, Text, false

from domogate.stores import columns as col
from domogate.stores.tables._metadata import partial_index, table

webhooks = table(
    "webhooks",
    col.key("id"),
    *col.strings("client_id"),
    col.reference("user_id", "users.id", cascade=True),
    *col.strings("grant_id"),
    col.reference("plant_id", "plants.id", cascade=True),
    *col.texts("url"),
    *col.strings("secret"),
    *col.texts("kinds"),
    Column("scopes", Text, nullable=False, server_default="[]"),
    *col.strings("form"),
    *col.doubles("created_at"),
    *col.cursors("position"),
    *col.optional_doubles("failing_since"),
    *col.integers("failures"),
    *col.doubles("next_at"),
    *col.texts("problem"),
    *col.optional_doubles("ended_at"),
    *col.texts("ended_why"),
    # Not used any more: earlier versions had a lease for each webhook. Remove both columns when no such gateway can run.
    *col.strings("holder"),
    *col.doubles("held_until"),
    *col.indexes("plant_id", "user_id"),
    Index(None, "client_id", "user_id", "plant_id", "url", unique=True),
)

# Pending deliveries. A row with `dead_at` is a dead letter. A row refers to its change by the cursor. `event` is empty until
# the change is pruned from the feed; then it is a copy of the event.
parked = table(
    "parked",
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
    *col.indexes("dead_at"),
)
partial_index("ix_parked_references", parked.c.cursor, parked.c.event == "")

used_tickets = table("used_tickets", col.key("id"), *col.doubles("expires_at"), *col.indexes("expires_at"))

# No foreign key to modules: the entry is kept when the unit is replaced.
logbook = table(
    "logbook",
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
    Column("simulated", Boolean, nullable=False, server_default=false()),
    Index(None, "plant_id", "at"),
    sqlite_autoincrement=True,
)
