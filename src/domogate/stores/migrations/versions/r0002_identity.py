"""Sessions, codes, refresh tokens, one-time links, the audit log; and what users, clients and grants are told more of."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("users", sa.Column("operator", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("users", sa.Column("totp_secret", sa.String))
    op.add_column("clients", sa.Column("pkce_exempt", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("clients", sa.Column("post_logout_redirect_uris", sa.Text, nullable=False, server_default="[]"))
    op.add_column("grants", sa.Column("auth_time", sa.Double))
    op.create_table(
        "sessions",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("token_hash", sa.String, nullable=False),
        sa.Column("user_id", sa.String, sa.ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
        sa.Column("auth_time", sa.Double, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("seen_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.Column("address", sa.String, nullable=False),
        sa.Column("agent", sa.String, nullable=False),
        sa.Column("factors", sa.Text, nullable=False),
    )
    op.create_index("ix_sessions_token_hash", "sessions", ["token_hash"], unique=True)
    op.create_index("ix_sessions_user_id", "sessions", ["user_id"])
    op.create_index("ix_sessions_expires_at", "sessions", ["expires_at"])
    op.create_table(
        "authorization_codes",
        sa.Column("code_hash", sa.String, primary_key=True),
        sa.Column("grant_id", sa.String, sa.ForeignKey("grants.id", ondelete="CASCADE"), nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.Column("redirect_uri", sa.Text),
        sa.Column("code_challenge", sa.String),
        sa.Column("nonce", sa.Text),
        sa.Column("used_at", sa.Double),
    )
    op.create_index("ix_authorization_codes_grant_id", "authorization_codes", ["grant_id"])
    op.create_index("ix_authorization_codes_expires_at", "authorization_codes", ["expires_at"])
    op.create_table(
        "refresh_tokens",
        sa.Column("token_hash", sa.String, primary_key=True),
        sa.Column("grant_id", sa.String, sa.ForeignKey("grants.id", ondelete="CASCADE"), nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.Column("replaced_at", sa.Double),
        sa.Column("successor_hash", sa.String),
    )
    op.create_index("ix_refresh_tokens_grant_id", "refresh_tokens", ["grant_id"])
    op.create_index("ix_refresh_tokens_expires_at", "refresh_tokens", ["expires_at"])
    op.create_table(
        "links",
        sa.Column("token_hash", sa.String, primary_key=True),
        sa.Column("user_id", sa.String, sa.ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
        sa.Column("purpose", sa.String, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
    )
    op.create_index("ix_links_user_id_purpose", "links", ["user_id", "purpose"], unique=True)
    op.create_index("ix_links_expires_at", "links", ["expires_at"])
    op.create_table(
        "pseudonyms",
        sa.Column("user_id", sa.String, sa.ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("pseudonym", sa.String, nullable=False),
    )
    op.create_index("ix_pseudonyms_pseudonym", "pseudonyms", ["pseudonym"], unique=True)
    op.create_table(
        "audit",
        sa.Column("number", NUMBER, primary_key=True, autoincrement=False),
        sa.Column("entry", sa.Text, nullable=False),
        sa.Column("hash", sa.String, nullable=False),
    )


def downgrade() -> None:
    raise NotImplementedError("there is no way back: restore a backup")
