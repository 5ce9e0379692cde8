"""Adds to each member the cursor at which the person joined the plant, and to each webhook its scopes."""

import sqlalchemy as sa
from alembic import op

from domogate.stores import columns as col

revision = "0007"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("members", sa.Column("since", col.CURSOR, nullable=False, server_default="0"))
    op.add_column("webhooks", sa.Column("scopes", sa.Text, nullable=False, server_default="[]"))
    op.execute(
        "UPDATE webhooks SET scopes = coalesce((SELECT grants.scopes FROM grants WHERE grants.id = webhooks.grant_id), '[]')"
    )
