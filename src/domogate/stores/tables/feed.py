"""The changes, and the gateways that follow them."""

from sqlalchemy import (
    Column,
    Double,
    Index,
    String,
    Table,
    Text,
)

from domogate.stores.tables._metadata import CURSOR, metadata

changes = Table(
    "changes",
    metadata,
    Column("cursor", CURSOR, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("plant_id", String),
    Column("event", Text, nullable=False),
    Index("ix_changes_plant_id_cursor", "plant_id", "cursor"),
)

gateways = Table(
    "gateways",
    metadata,
    Column("id", String, primary_key=True),
    Column("applied", CURSOR, nullable=False),
    Column("seen_at", Double, nullable=False),
)
