"""Adds to each member of a cluster the name of the cluster."""

from alembic import op

from domogate.stores import columns as col

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    for column in col.optional_strings("cluster"):
        op.add_column("leases", column)
