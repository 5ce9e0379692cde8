"""Adds an index that finds the pending deliveries which refer to a change of the feed.

The index is used before a change is pruned.
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    references = sa.text("event = ''")
    op.create_index("ix_parked_references", "parked", ["cursor"], sqlite_where=references, postgresql_where=references)
