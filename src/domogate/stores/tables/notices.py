"""What applications are told by webhooks, which tickets were used, and the logbooks of emergency lighting."""

from sqlalchemy import Column, Double, ForeignKey, Index, Integer, PrimaryKeyConstraint, String, Table, Text

from domogate.stores.tables._metadata import CURSOR, metadata

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", String, primary_key=True),
    Column("client_id", String, nullable=False),
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    Column("grant_id", String, nullable=False),
    Column("plant_id", ForeignKey("plants.id", ondelete="CASCADE"), nullable=False),
    Column("url", Text, nullable=False),
    Column("secret", String, nullable=False),
    Column("kinds", Text, nullable=False),
    Column("form", String, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("position", CURSOR, nullable=False),
    Column("failing_since", Double),
    Column("failures", Integer, nullable=False),
    Column("next_at", Double, nullable=False),
    Column("problem", Text, nullable=False),
    Column("ended_at", Double),
    Column("ended_why", Text, nullable=False),
    # Which gateway delivers it, and until when nobody else does.
    Column("holder", String, nullable=False),
    Column("held_until", Double, nullable=False),
    Index("ix_webhooks_plant_id", "plant_id"),
    Index("ix_webhooks_user_id", "user_id"),
    Index("ix_webhooks_client_id_user_id_plant_id_url", "client_id", "user_id", "plant_id", "url", unique=True),
)

# What a receiver did not take, until it does; a dead letter once `dead_at` is set. The event itself is kept here: the
# changes may be forgotten earlier.
parked = Table(
    "parked",
    metadata,
    Column("webhook_id", ForeignKey("webhooks.id", ondelete="CASCADE"), nullable=False),
    Column("cursor", CURSOR, nullable=False),
    Column("at", Double, nullable=False),
    Column("module_id", String),
    Column("event", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("next_at", Double, nullable=False),
    Column("problem", Text, nullable=False),
    Column("dead_at", Double),
    PrimaryKeyConstraint("webhook_id", "cursor"),
    Index("ix_parked_dead_at", "dead_at"),
)

used_tickets = Table(
    "used_tickets",
    metadata,
    Column("id", String, primary_key=True),
    Column("expires_at", Double, nullable=False),
    Index("ix_used_tickets_expires_at", "expires_at"),
)

# No foreign key to modules: what was logged stays logged when the unit is replaced.
logbook = Table(
    "logbook",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("plant_id", ForeignKey("plants.id", ondelete="CASCADE"), nullable=False),
    Column("at", Double, nullable=False),
    Column("kind", String, nullable=False),
    Column("module_id", String),
    Column("module", String, nullable=False),
    Column("test", Text),
    Column("failure", String),
    Column("words", Text, nullable=False),
    Column("by", String, nullable=False),
    Index("ix_logbook_plant_id_at", "plant_id", "at"),
    sqlite_autoincrement=True,
)
