"""Webhooks and what they could not deliver, used tickets, and the logbooks of emergency lighting."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_CURSOR = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "webhooks",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("client_id", sa.String, nullable=False),
        sa.Column("user_id", sa.String, sa.ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
        sa.Column("grant_id", sa.String, nullable=False),
        sa.Column("plant_id", sa.String, sa.ForeignKey("plants.id", ondelete="CASCADE"), nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("secret", sa.String, nullable=False),
        sa.Column("kinds", sa.Text, nullable=False),
        sa.Column("form", sa.String, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("position", _CURSOR, nullable=False),
        sa.Column("failing_since", sa.Double),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("next_at", sa.Double, nullable=False),
        sa.Column("problem", sa.Text, nullable=False),
        sa.Column("ended_at", sa.Double),
        sa.Column("ended_why", sa.Text, nullable=False),
        sa.Column("holder", sa.String, nullable=False),
        sa.Column("held_until", sa.Double, nullable=False),
    )
    op.create_index("ix_webhooks_plant_id", "webhooks", ["plant_id"])
    op.create_index("ix_webhooks_user_id", "webhooks", ["user_id"])
    op.create_index(
        "ix_webhooks_client_id_user_id_plant_id_url",
        "webhooks",
        ["client_id", "user_id", "plant_id", "url"],
        unique=True,
    )
    op.create_table(
        "parked",
        sa.Column("webhook_id", sa.String, sa.ForeignKey("webhooks.id", ondelete="CASCADE"), nullable=False),
        sa.Column("cursor", _CURSOR, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("module_id", sa.String),
        sa.Column("event", sa.Text, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("next_at", sa.Double, nullable=False),
        sa.Column("problem", sa.Text, nullable=False),
        sa.Column("dead_at", sa.Double),
        sa.PrimaryKeyConstraint("webhook_id", "cursor"),
    )
    op.create_index("ix_parked_dead_at", "parked", ["dead_at"])
    op.create_table(
        "used_tickets",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("expires_at", sa.Double, nullable=False),
    )
    op.create_index("ix_used_tickets_expires_at", "used_tickets", ["expires_at"])
    op.create_table(
        "logbook",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("plant_id", sa.String, sa.ForeignKey("plants.id", ondelete="CASCADE"), nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("module_id", sa.String),
        sa.Column("module", sa.String, nullable=False),
        sa.Column("test", sa.Text),
        sa.Column("failure", sa.String),
        sa.Column("words", sa.Text, nullable=False),
        sa.Column("by", sa.String, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_logbook_plant_id_at", "logbook", ["plant_id", "at"])


def downgrade() -> None:
    raise NotImplementedError("there is no way back: restore a backup")
