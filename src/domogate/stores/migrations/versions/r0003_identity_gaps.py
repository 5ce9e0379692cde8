"""How people proved who they are, what of it counts across processes, and whose e-mail is proved."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("users", sa.Column("email_verified", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("grants", sa.Column("factors", sa.Text, nullable=False, server_default="[]"))
    op.add_column("links", sa.Column("sent_to", sa.String))
    op.create_table(
        "totp_steps",
        sa.Column("user_id", sa.String, sa.ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("step", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "attempts",
        sa.Column("key", sa.String, primary_key=True),
        sa.Column("number", sa.Double, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
    )
    op.create_index("ix_attempts_expires_at", "attempts", ["expires_at"])


def downgrade() -> None:
    raise NotImplementedError("there is no way back: restore a backup")
