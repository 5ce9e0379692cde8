"""Adds a table with the URL of the gateway. The gateway that was started last has written this URL."""

from alembic import op

from domogate.stores import columns as col

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.create_table("address", col.key("id"), *col.texts("url"))
