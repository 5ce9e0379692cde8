"""What devices measured, what they were told, and the faults injected into them."""

from sqlalchemy import (
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

from domogate.stores.tables._metadata import metadata

# What a module measures, by a number: readings that named their module would be six times the size.
series = Table(
    "series",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("module_id", ForeignKey("modules.id", ondelete="CASCADE"), nullable=False),
    Column("measure", String, nullable=False),
    Column("unit", String, nullable=False),
    Index("ix_series_module_id_measure_unit", "module_id", "measure", "unit", unique=True),
    # A number is never given twice: readings of a module that is gone stay until their hour is summarised.
    sqlite_autoincrement=True,
)

# By hour first (of the epoch, with milliseconds in it): hours are written, summarised and forgotten one after the other, so
# that all of it happens at the two ends of one tree, which needs no index besides.
raw_readings = Table(
    "raw_readings",
    metadata,
    Column("hour", Integer, nullable=False),
    Column("series", Integer, nullable=False),
    Column("ms", Integer, nullable=False),
    Column("value", Double, nullable=False),
    PrimaryKeyConstraint("hour", "series", "ms"),
    sqlite_with_rowid=False,
)

hourly_readings = Table(
    "hourly_readings",
    metadata,
    Column("series", ForeignKey("series.id", ondelete="CASCADE"), nullable=False),
    Column("hour", Integer, nullable=False),
    Column("count", Integer, nullable=False),
    Column("mean", Double, nullable=False),
    Column("low", Double, nullable=False),
    Column("high", Double, nullable=False),
    Column("last", Double, nullable=False),
    # When in the hour `last` was measured: what comes late finds its place.
    Column("last_ms", Integer, nullable=False),
    PrimaryKeyConstraint("series", "hour"),
    Index("ix_hourly_readings_hour", "hour"),
    sqlite_with_rowid=False,
)

# No foreign keys: what was ordered is told even of a module that is gone.
orders = Table(
    "orders",
    metadata,
    Column("id", String, primary_key=True),
    Column("plant_id", String, nullable=False),
    Column("module_id", String, nullable=False),
    Column("command", Text, nullable=False),
    Column("deadline", Double, nullable=False),
    Column("state", String, nullable=False),
    Column("queued_at", Double, nullable=False),
    Column("sent_at", Double),
    Column("ended_at", Double),
    Column("problem", Text, nullable=False),
    Index("ix_orders_queued_at", "queued_at"),
    Index("ix_orders_plant_id_queued_at", "plant_id", "queued_at"),
)
# Those that have not ended: few, however many there were.
Index(
    "ix_orders_open",
    orders.c.deadline,
    sqlite_where=orders.c.ended_at.is_(None),
    postgresql_where=orders.c.ended_at.is_(None),
)

# Of a plant or of a module, never both: where a module stands is told in one place.
injections = Table(
    "injections",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("plant_id", ForeignKey("plants.id", ondelete="CASCADE")),
    Column("module_id", ForeignKey("modules.id", ondelete="CASCADE")),
    Column("fault", String, nullable=False),
    Column("value", String, nullable=False),
    Column("until", Double),
    Column("covers", Text),
    Index("ix_injections_plant_id_fault", "plant_id", "fault", unique=True),
    Index("ix_injections_module_id_fault", "module_id", "fault", unique=True),
)
