"""Adds a table for the passkeys of users."""

import sqlalchemy as sa
from alembic import op

from domogate.stores import columns as col

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.create_table(
        "passkeys",
        col.key("id"),
        col.reference("user_id", "users.id", cascade=True),
        *col.strings("credential_id", "user_handle", "public_key"),
        sa.Column("sign_count", sa.BigInteger, nullable=False),
        *col.strings("name"),
        *col.doubles("created_at"),
        *col.optional_doubles("used_at"),
        sa.Index(None, "credential_id", unique=True),
        *col.indexes("user_id"),
    )
