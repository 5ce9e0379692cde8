"""The change feed, the gateways that follow it, their address, and the last time that a gateway saw."""

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

# One row. It stays when the gateway stops.
address = Table("address", metadata, col.key("id"), *col.texts("url"))

# One row. It is written only while the clock is right, so that a wrong clock can be told from it.
clock = Table("clock", metadata, col.key("id"), *col.doubles("seen_at"))
