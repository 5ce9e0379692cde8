"""Adds the last time that a gateway stored while its clock was right. With this time, a wrong clock can be detected."""

from alembic import op

from domogate.stores import columns as col

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.create_table("clock", col.key("id"), *col.doubles("seen_at"))
