"""Adds a table with the last time that a gateway has read from its clock while the clock was right.

A gateway compares its clock with this time, to find out whether its clock is wrong.
"""

from alembic import op

from domogate.stores import columns as col

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.create_table("clock", col.key("id"), *col.doubles("seen_at"))
