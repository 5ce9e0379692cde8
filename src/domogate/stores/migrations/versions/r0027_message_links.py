"""Adds to each member of a cluster whether it can get messages of the other members."""

from alembic import op

from domogate.stores import columns as col

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    for column in col.optional_strings("link"):
        op.add_column("leases", column)
