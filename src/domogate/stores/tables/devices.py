"""Tables with readings of devices, orders to devices, injected faults, and the connections of drivers."""

from sqlalchemy import Column, ForeignKey, Index, Integer, PrimaryKeyConstraint

from domogate.stores import columns as col
from domogate.stores.tables._metadata import partial_index, table

# Gives each measure of a module a number. Readings have this number: with the module id they would need six times the space.
series = table(
    "series",
    Column("id", Integer, primary_key=True),
    col.reference("module_id", "modules.id", cascade=True),
    *col.strings("measure", "unit"),
    Index(None, "module_id", "measure", "unit", unique=True),
    # A number is never used again: readings of deleted modules stay until they are summarised.
    sqlite_autoincrement=True,
)

# The key begins with the slot: ten minutes, counted from the epoch. `ms` are the milliseconds in the slot. Slots are written,
# summarised and removed in order. So all writes happen at the two ends of the tree, and no other index is needed.
recent_readings = table(
    "recent_readings",
    *col.integers("slot", "series", "ms"),
    *col.doubles("value"),
    PrimaryKeyConstraint("slot", "series", "ms"),
    sqlite_with_rowid=False,
)

# Readings that version 0.1 wrote. They are moved into `recent_readings` (Decision 0146).
raw_readings = table(
    "raw_readings",
    *col.integers("hour", "series", "ms"),
    *col.doubles("value"),
    PrimaryKeyConstraint("hour", "series", "ms"),
    sqlite_with_rowid=False,
)

hourly_readings = table(
    "hourly_readings",
    Column("series", ForeignKey("series.id", ondelete="CASCADE"), nullable=False),
    *col.integers("hour", "count"),
    *col.doubles("mean", "low", "high", "last"),
    # The time of `last` within the hour. It is needed to merge late readings correctly.
    *col.integers("last_ms"),
    PrimaryKeyConstraint("series", "hour"),
    *col.indexes("hour"),
    sqlite_with_rowid=False,
)

# No foreign keys: the orders of deleted modules are kept.
orders = table(
    "orders",
    col.key("id"),
    *col.strings("plant_id", "module_id"),
    *col.texts("command"),
    *col.doubles("deadline"),
    *col.strings("state"),
    *col.doubles("queued_at"),
    *col.optional_doubles("sent_at", "ended_at"),
    *col.texts("problem"),
    *col.optional_strings("user_id"),
    *col.indexes("queued_at"),
    Index(None, "plant_id", "queued_at"),
)
# The index has only open orders, so it stays small.
partial_index("ix_orders_open", orders.c.deadline, orders.c.ended_at.is_(None))

# Each row belongs to a plant or to a module, never to both: the plant of a module is stored in one place.
injections = table(
    "injections",
    Column("id", Integer, primary_key=True),
    col.reference("plant_id", "plants.id", cascade=True, optional=True),
    col.reference("module_id", "modules.id", cascade=True, optional=True),
    *col.strings("fault", "value"),
    *col.optional_doubles("until"),
    *col.optional_texts("covers"),
    Index(None, "plant_id", "fault", unique=True),
    Index(None, "module_id", "fault", unique=True),
)

# The connection of a driver that an operator set in the console. `password` is encrypted.
driver_connections = table(
    "driver_connections", col.key("driver"), *col.texts("url"), *col.optional_texts("username", "password")
)
