"""Adds tables for sessions, authorization codes, refresh tokens, one-time links and the audit log.

Also adds columns to the tables of users, clients and grants.
"""

import sqlalchemy as sa
from alembic import op

from domogate.stores import columns as col

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("users", sa.Column("operator", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("users", sa.Column("totp_secret", sa.String))
    op.add_column("clients", sa.Column("pkce_exempt", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("clients", sa.Column("post_logout_redirect_uris", sa.Text, nullable=False, server_default="[]"))
    op.add_column("grants", sa.Column("auth_time", sa.Double))
    op.create_table(
        "sessions",
        col.key("id"),
        *col.strings("token_hash"),
        col.reference("user_id", "users.id", cascade=True),
        *col.doubles("auth_time", "created_at", "seen_at", "expires_at"),
        *col.strings("address", "agent"),
        *col.texts("factors"),
        sa.Index(None, "token_hash", unique=True),
        *col.indexes("user_id", "expires_at"),
    )
    op.create_table(
        "authorization_codes",
        col.key("code_hash"),
        col.reference("grant_id", "grants.id", cascade=True),
        *col.doubles("expires_at"),
        *col.optional_texts("redirect_uri"),
        *col.optional_strings("code_challenge"),
        *col.optional_texts("nonce"),
        *col.optional_doubles("used_at"),
        *col.indexes("grant_id", "expires_at"),
    )
    op.create_table(
        "refresh_tokens",
        col.key("token_hash"),
        col.reference("grant_id", "grants.id", cascade=True),
        *col.doubles("created_at", "expires_at"),
        *col.optional_doubles("replaced_at"),
        *col.optional_strings("successor_hash"),
        *col.indexes("grant_id", "expires_at"),
    )
    op.create_table(
        "links",
        col.key("token_hash"),
        col.reference("user_id", "users.id", cascade=True),
        *col.strings("purpose"),
        *col.doubles("expires_at"),
        sa.Index(None, "user_id", "purpose", unique=True),
        *col.indexes("expires_at"),
    )
    op.create_table(
        "pseudonyms",
        col.reference("user_id", "users.id", cascade=True, primary_key=True),
        *col.strings("pseudonym"),
        sa.Index(None, "pseudonym", unique=True),
    )
    op.create_table(
        "audit",
        sa.Column("number", col.CURSOR, primary_key=True, autoincrement=False),
        *col.texts("entry"),
        *col.strings("hash"),
    )
