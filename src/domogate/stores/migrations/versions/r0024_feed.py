"""Adds a table for gateways that share a PostgreSQL database.

It has the cursor of the last pruned change, and the cursor of the last transaction that changed plants or states with the
exclusive lock for writes. It also has the offset of cursors. PostgreSQL computes a cursor from the number of a transaction.
The offset keeps new cursors above all stored cursors.
"""

from alembic import op

from domogate.stores import columns as col

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    op.create_table("feed", col.key("id"), *col.cursors("cursor_offset", "pruned", "structure"))
