"""Adds tables for orders and injected faults, and a column for the reason why a module is unreachable.

Moves the readings to new tables, which need a sixth of the space of the old table and also have hourly summaries.
"""

import sqlalchemy as sa
from alembic import op

from domogate.stores import columns as col

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("states", sa.Column("absence", sa.Text))
    op.create_table(
        "series",
        sa.Column("id", sa.Integer, primary_key=True),
        col.reference("module_id", "modules.id", cascade=True),
        *col.strings("measure", "unit"),
        sa.Index(None, "module_id", "measure", "unit", unique=True),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "raw_readings",
        *col.integers("hour", "series", "ms"),
        *col.doubles("value"),
        sa.PrimaryKeyConstraint("hour", "series", "ms"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "hourly_readings",
        sa.Column("series", sa.Integer, sa.ForeignKey("series.id", ondelete="CASCADE"), nullable=False),
        *col.integers("hour", "count"),
        *col.doubles("mean", "low", "high", "last"),
        *col.integers("last_ms"),
        sa.PrimaryKeyConstraint("series", "hour"),
        *col.indexes("hour"),
        sqlite_with_rowid=False,
    )
    _move_readings()
    op.create_table(
        "orders",
        col.key("id"),
        *col.strings("plant_id", "module_id"),
        *col.texts("command"),
        *col.doubles("deadline"),
        *col.strings("state"),
        *col.doubles("queued_at"),
        *col.optional_doubles("sent_at", "ended_at"),
        *col.texts("problem"),
        *col.indexes("queued_at"),
        sa.Index(None, "plant_id", "queued_at"),
    )
    open_only = sa.text("ended_at IS NULL")
    op.create_index("ix_orders_open", "orders", ["deadline"], sqlite_where=open_only, postgresql_where=open_only)
    op.create_table(
        "injections",
        sa.Column("id", sa.Integer, primary_key=True),
        col.reference("plant_id", "plants.id", cascade=True, optional=True),
        col.reference("module_id", "modules.id", cascade=True, optional=True),
        *col.strings("fault", "value"),
        *col.optional_doubles("until"),
        *col.optional_texts("covers"),
        sa.Index(None, "plant_id", "fault", unique=True),
        sa.Index(None, "module_id", "fault", unique=True),
    )


def _move_readings() -> None:
    """Copy the readings with times in milliseconds. If a series has two readings at the same millisecond, one is kept."""
    # Times outside this range cannot come from a clock.
    op.execute("DELETE FROM readings WHERE NOT (at BETWEEN 0 AND 1e11)")
    op.execute(
        "INSERT INTO series (module_id, measure, unit)"
        " SELECT DISTINCT module_id, measure, unit FROM readings ORDER BY module_id, measure, unit"
    )
    op.execute(
        "INSERT INTO raw_readings (hour, series, ms, value)"
        " SELECT moment / 3600000, id, moment % 3600000, max(value) FROM ("
        " SELECT series.id AS id, CAST(round(readings.at * 1000) AS BIGINT) AS moment, readings.value AS value"
        " FROM readings JOIN series ON series.module_id = readings.module_id AND series.measure = readings.measure"
        " AND series.unit = readings.unit) AS moved GROUP BY moment, id ORDER BY 1, 2, 3"
    )
    op.drop_table("readings")
