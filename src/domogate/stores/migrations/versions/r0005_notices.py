"""Adds tables for webhooks, pending deliveries, used tickets, and the logbooks of emergency lighting."""

import sqlalchemy as sa
from alembic import op

from domogate.stores import columns as col

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "webhooks",
        col.key("id"),
        *col.strings("client_id"),
        col.reference("user_id", "users.id", cascade=True),
        *col.strings("grant_id"),
        col.reference("plant_id", "plants.id", cascade=True),
        *col.texts("url"),
        *col.strings("secret"),
        *col.texts("kinds"),
        *col.strings("form"),
        *col.doubles("created_at"),
        *col.cursors("position"),
        *col.optional_doubles("failing_since"),
        *col.integers("failures"),
        *col.doubles("next_at"),
        *col.texts("problem"),
        *col.optional_doubles("ended_at"),
        *col.texts("ended_why"),
        *col.strings("holder"),
        *col.doubles("held_until"),
        *col.indexes("plant_id", "user_id"),
        sa.Index(None, "client_id", "user_id", "plant_id", "url", unique=True),
    )
    op.create_table(
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
        sa.PrimaryKeyConstraint("webhook_id", "cursor"),
        *col.indexes("dead_at"),
    )
    op.create_table(
        "used_tickets",
        col.key("id"),
        *col.doubles("expires_at"),
        *col.indexes("expires_at"),
    )
    op.create_table(
        "logbook",
        sa.Column("number", sa.Integer, primary_key=True),
        col.reference("plant_id", "plants.id", cascade=True),
        *col.doubles("at"),
        *col.strings("kind"),
        *col.optional_strings("module_id"),
        *col.strings("module"),
        *col.optional_texts("test"),
        *col.optional_strings("failure"),
        *col.texts("words"),
        *col.strings("by"),
        sa.Index(None, "plant_id", "at"),
        sqlite_autoincrement=True,
    )
