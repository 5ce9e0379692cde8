"""Adds to each plant its time zone."""

from alembic import op

from domogate.stores import columns as col

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    for column in col.optional_strings("time_zone"):
        op.add_column("plants", column)
