"""Adds to the table of grants a column for the plants that the user chose."""

from alembic import op

from domogate.stores import columns as col

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    for column in col.optional_texts("plants"):
        op.add_column("grants", column)
