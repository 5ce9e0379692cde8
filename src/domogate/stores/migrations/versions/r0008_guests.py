"""Adds the column `limits` to the tables of members and invitations."""

from alembic import op

from domogate.stores import columns as col

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    for table in ("members", "invitations"):
        for column in col.optional_texts("limits"):
            op.add_column(table, column)
