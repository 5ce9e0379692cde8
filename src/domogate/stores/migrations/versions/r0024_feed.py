"""Adds a table for gateways that share a PostgreSQL database.

It has the cursor of the last pruned change. It also has the cursor of the last transaction that held the exclusive lock for
writes and changed plants or states. And it has the offset of cursors. PostgreSQL computes a cursor from the number of a
transaction. The offset is added to this number, so that new cursors are above all stored cursors.
"""

from alembic import op

from domogate.stores import columns as col

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    op.create_table("feed", col.key("id"), *col.cursors("cursor_offset", "pruned", "structure"))
