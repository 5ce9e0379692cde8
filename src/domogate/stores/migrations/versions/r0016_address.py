"""Adds the URL of the gateway that started last."""

from alembic import op

from domogate.stores import columns as col

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.create_table("address", col.key("id"), *col.texts("url"))
