"""Adds a table for the history of imports of estate files."""

import sqlalchemy as sa
from alembic import op

from domogate.stores import columns as col

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    op.create_table(
        "estate_imports",
        sa.Column("number", sa.Integer, primary_key=True),
        *col.doubles("at"),
        *col.optional_strings("user_id"),
        *col.flags("prune"),
        *col.texts("summary"),
        *col.optional_binaries("document"),
        sqlite_autoincrement=True,
    )
