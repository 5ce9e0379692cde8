"""Adds to each member and each invitation its limits."""

from alembic import op

from domogate.stores import columns as col

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    for table in ("members", "invitations"):
        for column in col.optional_texts("limits"):
            op.add_column(table, column)
