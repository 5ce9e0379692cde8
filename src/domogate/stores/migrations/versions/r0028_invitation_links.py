"""Adds a table for the links with which a person joins a plant."""

import sqlalchemy as sa
from alembic import op

from domogate.stores import columns as col

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    op.create_table(
        "invitation_links",
        col.key("id"),
        *col.strings("token_hash"),
        col.reference("plant_id", "plants.id", cascade=True),
        col.reference("user_id", "users.id", cascade=True),
        *col.strings("note"),
        *col.doubles("created_at", "expires_at"),
        *col.optional_texts("limits"),
        sa.Index(None, "token_hash", unique=True),
        *col.indexes("plant_id", "user_id", "expires_at"),
    )
