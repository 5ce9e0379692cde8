"""Adds a table for the id of the key that encrypts signing keys, secrets of second factors, and webhook secrets."""

from alembic import op

from domogate.stores import columns as col

revision = "0010"
down_revision = "0008"


def upgrade() -> None:
    op.create_table("secret_key", col.key("id"))
