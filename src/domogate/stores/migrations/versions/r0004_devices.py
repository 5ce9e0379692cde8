"""Why a module is away, orders, injected faults; and readings in a sixth of the space, with hourly summaries."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("states", sa.Column("absence", sa.Text))
    op.create_table(
        "series",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("module_id", sa.String, sa.ForeignKey("modules.id", ondelete="CASCADE"), nullable=False),
        sa.Column("measure", sa.String, nullable=False),
        sa.Column("unit", sa.String, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_series_module_id_measure_unit", "series", ["module_id", "measure", "unit"], unique=True)
    op.create_table(
        "raw_readings",
        sa.Column("hour", sa.Integer, nullable=False),
        sa.Column("series", sa.Integer, nullable=False),
        sa.Column("ms", sa.Integer, nullable=False),
        sa.Column("value", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("hour", "series", "ms"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "hourly_readings",
        sa.Column("series", sa.Integer, sa.ForeignKey("series.id", ondelete="CASCADE"), nullable=False),
        sa.Column("hour", sa.Integer, nullable=False),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("mean", sa.Double, nullable=False),
        sa.Column("low", sa.Double, nullable=False),
        sa.Column("high", sa.Double, nullable=False),
        sa.Column("last", sa.Double, nullable=False),
        sa.Column("last_ms", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("series", "hour"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_hourly_readings_hour", "hourly_readings", ["hour"])
    _move_readings()
    op.create_table(
        "orders",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("plant_id", sa.String, nullable=False),
        sa.Column("module_id", sa.String, nullable=False),
        sa.Column("command", sa.Text, nullable=False),
        sa.Column("deadline", sa.Double, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("queued_at", sa.Double, nullable=False),
        sa.Column("sent_at", sa.Double),
        sa.Column("ended_at", sa.Double),
        sa.Column("problem", sa.Text, nullable=False),
    )
    op.create_index("ix_orders_queued_at", "orders", ["queued_at"])
    op.create_index("ix_orders_plant_id_queued_at", "orders", ["plant_id", "queued_at"])
    open_only = sa.text("ended_at IS NULL")
    op.create_index("ix_orders_open", "orders", ["deadline"], sqlite_where=open_only, postgresql_where=open_only)
    op.create_table(
        "injections",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("plant_id", sa.String, sa.ForeignKey("plants.id", ondelete="CASCADE")),
        sa.Column("module_id", sa.String, sa.ForeignKey("modules.id", ondelete="CASCADE")),
        sa.Column("fault", sa.String, nullable=False),
        sa.Column("value", sa.String, nullable=False),
        sa.Column("until", sa.Double),
        sa.Column("covers", sa.Text),
    )
    op.create_index("ix_injections_plant_id_fault", "injections", ["plant_id", "fault"], unique=True)
    op.create_index("ix_injections_module_id_fault", "injections", ["module_id", "fault"], unique=True)


def _move_readings() -> None:
    """To the millisecond; of two in the same millisecond one is kept."""
    # What is dated otherwise was dated by no clock.
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


def downgrade() -> None:
    raise NotImplementedError("there is no way back: restore a backup")
