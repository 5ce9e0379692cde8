"""Adds to each user whether the e-mail address is verified. Adds login factors (such as password or TOTP) to each grant.

Also adds the address to which a one-time link was sent, and a table for login attempts. Another table has the time step of the
last TOTP code of each user. So a code is accepted only once.
"""

import sqlalchemy as sa
from alembic import op

from domogate.stores import columns as col

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("users", sa.Column("email_verified", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("grants", sa.Column("factors", sa.Text, nullable=False, server_default="[]"))
    op.add_column("links", sa.Column("sent_to", sa.String))
    op.create_table(
        "totp_steps",
        col.reference("user_id", "users.id", cascade=True, primary_key=True),
        sa.Column("step", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "attempts",
        col.key("key"),
        *col.doubles("number", "at", "expires_at"),
        *col.indexes("expires_at"),
    )
