"""Creates the first tables."""

import sqlalchemy as sa
from alembic import op

from domogate.stores import columns as col

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "changes",
        sa.Column("cursor", col.CURSOR, primary_key=True, autoincrement=False),
        *col.doubles("at"),
        *col.optional_strings("plant_id"),
        *col.texts("event"),
        sa.Index(None, "plant_id", "cursor"),
    )
    op.create_table(
        "gateways",
        col.key("id"),
        *col.cursors("applied"),
        *col.doubles("seen_at"),
    )
    op.create_table(
        "users",
        col.key("id"),
        *col.strings("email", "email_key", "name"),
        *col.optional_strings("password_hash"),
        *col.strings("standing"),
        sa.Index(None, "email_key", unique=True),
    )
    op.create_table(
        "clients",
        col.key("id"),
        *col.strings("name"),
        *col.optional_strings("secret_hash"),
        *col.texts("redirect_uris", "origins", "grants", "scopes"),
        *col.flags("access_token_everywhere"),
    )
    op.create_table(
        "grants",
        col.key("id"),
        col.reference("user_id", "users.id"),
        col.reference("client_id", "clients.id"),
        *col.texts("scopes"),
        *col.strings("flow"),
        *col.doubles("created_at"),
        *col.optional_doubles("revoked_at"),
        *col.indexes("user_id", "client_id"),
    )
    op.create_table(
        "subscriptions",
        col.key("id"),
        *col.strings("name", "key_hash", "hint"),
        *col.optional_strings("rate"),
        sa.Column("daily_quota", sa.BigInteger),
        *col.doubles("created_at"),
        *col.optional_doubles("expires_at", "revoked_at"),
        sa.Index(None, "key_hash", unique=True),
    )
    op.create_table(
        "usages",
        col.reference("subscription_id", "subscriptions.id", cascade=True),
        *col.strings("day"),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("subscription_id", "day"),
    )
    op.create_table(
        "signing_keys",
        col.key("kid"),
        *col.strings("algorithm"),
        *col.texts("jwk"),
        *col.doubles("created_at"),
        *col.optional_doubles("retired_at"),
    )
    op.create_table(
        "plants",
        col.key("id"),
        *col.strings("internal_id", "name", "type", "status"),
        *col.optional_doubles("removed_at"),
        *col.optional_strings("country", "zip_code", "address"),
        *col.flags("marked_as_site"),
    )
    op.create_table(
        "members",
        col.reference("plant_id", "plants.id", cascade=True),
        col.reference("user_id", "users.id"),
        *col.flags("owner"),
        *col.integers("position"),
        sa.PrimaryKeyConstraint("plant_id", "user_id"),
        *col.indexes("user_id"),
    )
    op.create_table(
        "invitations",
        col.reference("plant_id", "plants.id", cascade=True),
        *col.strings("email_key", "email"),
        *col.integers("position"),
        sa.PrimaryKeyConstraint("plant_id", "email_key"),
        *col.indexes("email_key"),
    )
    op.create_table(
        "floors",
        col.key("id"),
        col.reference("plant_id", "plants.id"),
        *col.integers("position"),
        *col.strings("internal_id", "name"),
        *col.indexes("plant_id"),
    )
    op.create_table(
        "ambients",
        col.key("id"),
        col.reference("plant_id", "plants.id"),
        col.reference("floor_id", "floors.id", optional=True),
        *col.integers("position"),
        *col.strings("internal_id", "name", "type"),
        *col.indexes("plant_id", "floor_id"),
    )
    op.create_table(
        "modules",
        col.key("id"),
        col.reference("plant_id", "plants.id"),
        col.reference("ambient_id", "ambients.id", optional=True),
        *col.integers("position"),
        *col.strings("internal_id", "name", "kind", "driver"),
        *col.optional_strings("type", "hw_type", "device_type"),
        *col.optional_texts("metrics", "capabilities", "detail"),
        *col.texts("options"),
        *col.optional_strings("controller_id", "reference"),
        sa.Index(None, "plant_id", "kind"),
        sa.Index(None, "driver", "plant_id"),
        *col.indexes("ambient_id", "reference"),
    )
    op.create_table(
        "states",
        col.reference("module_id", "modules.id", cascade=True, primary_key=True),
        *col.optional_texts("state"),
        *col.flags("reachable"),
        *col.doubles("at"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "readings",
        col.reference("module_id", "modules.id", cascade=True),
        *col.doubles("at"),
        *col.strings("measure"),
        *col.doubles("value"),
        *col.strings("unit"),
        sa.PrimaryKeyConstraint("module_id", "at", "measure"),
        *col.indexes("at"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "spare_parts",
        col.key("unit"),
        *col.texts("parts"),
    )
