"""Adds a table for the connections of drivers that operators set in the console."""

from alembic import op

from domogate.stores import columns as col

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    op.create_table("driver_connections", col.key("driver"), *col.texts("url"), *col.optional_texts("username", "password"))
