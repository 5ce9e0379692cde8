"""Adds the name of the cluster of a member."""

from alembic import op

from domogate.stores import columns as col

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    for column in col.optional_strings("cluster"):
        op.add_column("leases", column)
