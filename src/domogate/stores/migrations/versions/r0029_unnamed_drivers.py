"""Adds an index of the modules whose driver is not named in an estate file."""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    op.create_index(
        "ix_modules_unnamed_driver",
        "modules",
        ["plant_id"],
        sqlite_where=sa.text("driver_named IS 0"),
        postgresql_where=sa.text("driver_named IS false"),
    )
