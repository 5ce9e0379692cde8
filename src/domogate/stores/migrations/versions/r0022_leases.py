"""Adds tables for the members of a cluster and the shards that they hold."""

import sqlalchemy as sa
from alembic import op

from domogate.stores import columns as col

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.create_table(
        "leases",
        col.key("id"),
        *col.strings("name", "url", "version"),
        *col.doubles("started_at", "lease_until"),
        *col.flags("is_leaving"),
    )
    op.create_table(
        "shards",
        sa.Column("shard", sa.Integer, primary_key=True, autoincrement=False),
        *col.optional_strings("holder"),
        *col.cursors("epoch"),
    )
