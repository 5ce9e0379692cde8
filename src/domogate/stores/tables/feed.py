"""The change feed, and the gateways that follow it."""

from sqlalchemy import Column, Index, Table

from domogate.stores import columns as col
from domogate.stores.tables._metadata import metadata

changes = Table(
    "changes",
    metadata,
    Column("cursor", col.CURSOR, primary_key=True, autoincrement=False),
    *col.doubles("at"),
    *col.optional_strings("plant_id"),
    *col.texts("event"),
    Index("ix_changes_plant_id_cursor", "plant_id", "cursor"),
)

gateways = Table(
    "gateways",
    metadata,
    col.key("id"),
    *col.cursors("applied"),
    *col.doubles("seen_at"),
)
