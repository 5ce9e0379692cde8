"""Adds to each order the person who sent it, and a table for the favourite modules of people."""

import sqlalchemy as sa
from alembic import op

from domogate.stores import columns as col

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    for column in col.optional_strings("user_id"):
        op.add_column("orders", column)
    op.create_table(
        "favourites",
        col.reference("user_id", "users.id", cascade=True),
        col.reference("plant_id", "plants.id", cascade=True),
        *col.texts("modules"),
        sa.PrimaryKeyConstraint("user_id", "plant_id"),
        *col.indexes("plant_id"),
    )
