"""Adds the table `recent_readings`, which groups readings by ten minutes. The earlier table groups them by hour, and stays."""

import sqlalchemy as sa
from alembic import op

from domogate.stores import columns as col

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    op.create_table(
        "recent_readings",
        *col.integers("slot", "series", "ms"),
        *col.doubles("value"),
        sa.PrimaryKeyConstraint("slot", "series", "ms"),
        sqlite_with_rowid=False,
    )
