"""Adds tables with the owners of clients and subscriptions that people registered for themselves."""

from alembic import op

from domogate.stores import columns as col

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    for name in ("client", "subscription"):
        op.create_table(
            f"owned_{name}s",
            col.reference(f"{name}_id", f"{name}s.id", cascade=True, primary_key=True),
            col.reference("user_id", "users.id", cascade=True),
            *col.indexes("user_id"),
        )
