"""Lets pending deliveries refer to the change feed. An index finds the deliveries that refer to pruned changes."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    references = sa.text("event = ''")
    op.create_index("ix_parked_references", "parked", ["cursor"], sqlite_where=references, postgresql_where=references)
