"""Adds the language of users, and the terms that they accepted."""

from alembic import op

from domogate.stores import columns as col

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    for column in col.optional_strings("language", "page_language", "terms_version"):
        op.add_column("users", column)
