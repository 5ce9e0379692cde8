"""Readings of devices, orders to them, and injected faults."""

from sqlalchemy import Column, ForeignKey, Index, Integer, PrimaryKeyConstraint, Table

from domogate.stores import columns as col
from domogate.stores.tables._metadata import metadata

# Gives each measure of a module a number. Rows with the module id instead would need six times the space.
series = Table(
    "series",
    metadata,
    Column("id", Integer, primary_key=True),
    col.reference("module_id", "modules.id", cascade=True),
    *col.strings("measure", "unit"),
    Index("ix_series_module_id_measure_unit", "module_id", "measure", "unit", unique=True),
    # A number is never used again: readings of deleted modules stay until they are summarised.
    sqlite_autoincrement=True,
)

# The key begins with the hour since the epoch; `ms` are the milliseconds in this hour. Hours are written, summarised and
# removed in order. So all writes happen at the two ends of the tree, and no other index is needed.
raw_readings = Table(
    "raw_readings",
    metadata,
    *col.integers("hour", "series", "ms"),
    *col.doubles("value"),
    PrimaryKeyConstraint("hour", "series", "ms"),
    sqlite_with_rowid=False,
)

hourly_readings = Table(
    "hourly_readings",
    metadata,
    Column("series", ForeignKey("series.id", ondelete="CASCADE"), nullable=False),
    *col.integers("hour", "count"),
    *col.doubles("mean", "low", "high", "last"),
    # The time of `last` within the hour. It is needed to merge late readings correctly.
    *col.integers("last_ms"),
    PrimaryKeyConstraint("series", "hour"),
    Index("ix_hourly_readings_hour", "hour"),
    sqlite_with_rowid=False,
)

# No foreign keys: the orders of deleted modules are kept.
orders = Table(
    "orders",
    metadata,
    col.key("id"),
    *col.strings("plant_id", "module_id"),
    *col.texts("command"),
    *col.doubles("deadline"),
    *col.strings("state"),
    *col.doubles("queued_at"),
    *col.optional_doubles("sent_at", "ended_at"),
    *col.texts("problem"),
    Index("ix_orders_queued_at", "queued_at"),
    Index("ix_orders_plant_id_queued_at", "plant_id", "queued_at"),
)
# Only for open orders, so the index stays small.
Index(
    "ix_orders_open",
    orders.c.deadline,
    sqlite_where=orders.c.ended_at.is_(None),
    postgresql_where=orders.c.ended_at.is_(None),
)

# Each row belongs to a plant or to a module, never to both: the plant of a module is stored in one place.
injections = Table(
    "injections",
    metadata,
    Column("id", Integer, primary_key=True),
    col.reference("plant_id", "plants.id", cascade=True, optional=True),
    col.reference("module_id", "modules.id", cascade=True, optional=True),
    *col.strings("fault", "value"),
    *col.optional_doubles("until"),
    *col.optional_texts("covers"),
    Index("ix_injections_plant_id_fault", "plant_id", "fault", unique=True),
    Index("ix_injections_module_id_fault", "module_id", "fault", unique=True),
)
