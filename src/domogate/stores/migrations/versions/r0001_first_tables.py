"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

CURSOR = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "changes",
        sa.Column("cursor", CURSOR, primary_key=True, autoincrement=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("plant_id", sa.String),
        sa.Column("event", sa.Text, nullable=False),
    )
    op.create_index("ix_changes_plant_id_cursor", "changes", ["plant_id", "cursor"])
    op.create_table(
        "gateways",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("applied", CURSOR, nullable=False),
        sa.Column("seen_at", sa.Double, nullable=False),
    )
    op.create_table(
        "users",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("email", sa.String, nullable=False),
        sa.Column("email_key", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("password_hash", sa.String),
        sa.Column("standing", sa.String, nullable=False),
    )
    op.create_index("ix_users_email_key", "users", ["email_key"], unique=True)
    op.create_table(
        "clients",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("secret_hash", sa.String),
        sa.Column("redirect_uris", sa.Text, nullable=False),
        sa.Column("origins", sa.Text, nullable=False),
        sa.Column("grants", sa.Text, nullable=False),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("access_token_everywhere", sa.Boolean, nullable=False),
    )
    op.create_table(
        "grants",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("user_id", sa.String, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("client_id", sa.String, sa.ForeignKey("clients.id"), nullable=False),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("flow", sa.String, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("revoked_at", sa.Double),
    )
    op.create_index("ix_grants_user_id", "grants", ["user_id"])
    op.create_index("ix_grants_client_id", "grants", ["client_id"])
    op.create_table(
        "subscriptions",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("key_hash", sa.String, nullable=False),
        sa.Column("hint", sa.String, nullable=False),
        sa.Column("rate", sa.String),
        sa.Column("daily_quota", sa.BigInteger),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double),
        sa.Column("revoked_at", sa.Double),
    )
    op.create_index("ix_subscriptions_key_hash", "subscriptions", ["key_hash"], unique=True)
    op.create_table(
        "usages",
        sa.Column("subscription_id", sa.String, sa.ForeignKey("subscriptions.id", ondelete="CASCADE"), nullable=False),
        sa.Column("day", sa.String, nullable=False),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("subscription_id", "day"),
    )
    op.create_table(
        "signing_keys",
        sa.Column("kid", sa.String, primary_key=True),
        sa.Column("algorithm", sa.String, nullable=False),
        sa.Column("jwk", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("retired_at", sa.Double),
    )
    op.create_table(
        "plants",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("internal_id", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("type", sa.String, nullable=False),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("removed_at", sa.Double),
        sa.Column("country", sa.String),
        sa.Column("zip_code", sa.String),
        sa.Column("address", sa.String),
        sa.Column("marked_as_site", sa.Boolean, nullable=False),
    )
    op.create_table(
        "members",
        sa.Column("plant_id", sa.String, sa.ForeignKey("plants.id", ondelete="CASCADE"), nullable=False),
        sa.Column("user_id", sa.String, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("owner", sa.Boolean, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("plant_id", "user_id"),
    )
    op.create_index("ix_members_user_id", "members", ["user_id"])
    op.create_table(
        "invitations",
        sa.Column("plant_id", sa.String, sa.ForeignKey("plants.id", ondelete="CASCADE"), nullable=False),
        sa.Column("email_key", sa.String, nullable=False),
        sa.Column("email", sa.String, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("plant_id", "email_key"),
    )
    op.create_index("ix_invitations_email_key", "invitations", ["email_key"])
    op.create_table(
        "floors",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("plant_id", sa.String, sa.ForeignKey("plants.id"), nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("internal_id", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
    )
    op.create_index("ix_floors_plant_id", "floors", ["plant_id"])
    op.create_table(
        "ambients",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("plant_id", sa.String, sa.ForeignKey("plants.id"), nullable=False),
        sa.Column("floor_id", sa.String, sa.ForeignKey("floors.id")),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("internal_id", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("type", sa.String, nullable=False),
    )
    op.create_index("ix_ambients_plant_id", "ambients", ["plant_id"])
    op.create_index("ix_ambients_floor_id", "ambients", ["floor_id"])
    op.create_table(
        "modules",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("plant_id", sa.String, sa.ForeignKey("plants.id"), nullable=False),
        sa.Column("ambient_id", sa.String, sa.ForeignKey("ambients.id")),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("internal_id", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("driver", sa.String, nullable=False),
        sa.Column("type", sa.String),
        sa.Column("hw_type", sa.String),
        sa.Column("device_type", sa.String),
        sa.Column("metrics", sa.Text),
        sa.Column("capabilities", sa.Text),
        sa.Column("detail", sa.Text),
        sa.Column("options", sa.Text, nullable=False),
        sa.Column("controller_id", sa.String),
        sa.Column("reference", sa.String),
    )
    op.create_index("ix_modules_plant_id_kind", "modules", ["plant_id", "kind"])
    op.create_index("ix_modules_driver_plant_id", "modules", ["driver", "plant_id"])
    op.create_index("ix_modules_ambient_id", "modules", ["ambient_id"])
    op.create_index("ix_modules_reference", "modules", ["reference"])
    op.create_table(
        "states",
        sa.Column("module_id", sa.String, sa.ForeignKey("modules.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("state", sa.Text),
        sa.Column("reachable", sa.Boolean, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "readings",
        sa.Column("module_id", sa.String, sa.ForeignKey("modules.id", ondelete="CASCADE"), nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("measure", sa.String, nullable=False),
        sa.Column("value", sa.Double, nullable=False),
        sa.Column("unit", sa.String, nullable=False),
        sa.PrimaryKeyConstraint("module_id", "at", "measure"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_readings_at", "readings", ["at"])
    op.create_table(
        "spare_parts",
        sa.Column("unit", sa.String, primary_key=True),
        sa.Column("parts", sa.Text, nullable=False),
    )


def downgrade() -> None:
    raise NotImplementedError("there is no way back: restore a backup")
