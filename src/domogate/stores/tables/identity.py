"""People, applications, keys, and what was noted of them."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    false,
)

from domogate.stores.tables._metadata import CURSOR, metadata

users = Table(
    "users",
    metadata,
    Column("id", String, primary_key=True),
    Column("email", String, nullable=False),
    Column("email_key", String, nullable=False),
    Column("name", String, nullable=False),
    Column("password_hash", String),
    Column("standing", String, nullable=False),
    Column("operator", Boolean, nullable=False, server_default=false()),
    Column("totp_secret", String),
    Column("email_verified", Boolean, nullable=False, server_default=false()),
    Index("ix_users_email_key", "email_key", unique=True),
)

clients = Table(
    "clients",
    metadata,
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("secret_hash", String),
    Column("redirect_uris", Text, nullable=False),
    Column("origins", Text, nullable=False),
    Column("grants", Text, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("access_token_everywhere", Boolean, nullable=False),
    Column("pkce_exempt", Boolean, nullable=False, server_default=false()),
    Column("post_logout_redirect_uris", Text, nullable=False, server_default="[]"),
)

grants = Table(
    "grants",
    metadata,
    Column("id", String, primary_key=True),
    Column("user_id", ForeignKey("users.id"), nullable=False),
    Column("client_id", ForeignKey("clients.id"), nullable=False),
    Column("scopes", Text, nullable=False),
    Column("flow", String, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("revoked_at", Double),
    Column("auth_time", Double),
    Column("factors", Text, nullable=False, server_default="[]"),
    Index("ix_grants_user_id", "user_id"),
    Index("ix_grants_client_id", "client_id"),
)

sessions = Table(
    "sessions",
    metadata,
    Column("id", String, primary_key=True),
    Column("token_hash", String, nullable=False),
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    Column("auth_time", Double, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("seen_at", Double, nullable=False),
    Column("expires_at", Double, nullable=False),
    Column("address", String, nullable=False),
    Column("agent", String, nullable=False),
    Column("factors", Text, nullable=False),
    Index("ix_sessions_token_hash", "token_hash", unique=True),
    Index("ix_sessions_user_id", "user_id"),
    Index("ix_sessions_expires_at", "expires_at"),
)

# The client of a code or a refresh token is its grant's: kept once.
authorization_codes = Table(
    "authorization_codes",
    metadata,
    Column("code_hash", String, primary_key=True),
    Column("grant_id", ForeignKey("grants.id", ondelete="CASCADE"), nullable=False),
    Column("expires_at", Double, nullable=False),
    Column("redirect_uri", Text),
    Column("code_challenge", String),
    # JSON, because it is any text at all and PostgreSQL's text holds no NUL.
    Column("nonce", Text),
    Column("used_at", Double),
    Index("ix_authorization_codes_grant_id", "grant_id"),
    Index("ix_authorization_codes_expires_at", "expires_at"),
)

refresh_tokens = Table(
    "refresh_tokens",
    metadata,
    Column("token_hash", String, primary_key=True),
    Column("grant_id", ForeignKey("grants.id", ondelete="CASCADE"), nullable=False),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double, nullable=False),
    Column("replaced_at", Double),
    # No foreign key: a token may be forgotten before the one it replaced.
    Column("successor_hash", String),
    Index("ix_refresh_tokens_grant_id", "grant_id"),
    Index("ix_refresh_tokens_expires_at", "expires_at"),
)

links = Table(
    "links",
    metadata,
    Column("token_hash", String, primary_key=True),
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    Column("purpose", String, nullable=False),
    Column("expires_at", Double, nullable=False),
    Column("sent_to", String),
    Index("ix_links_user_id_purpose", "user_id", "purpose", unique=True),
    Index("ix_links_expires_at", "expires_at"),
)

# Apart from the users, whose rows are compared and replaced as a whole.
totp_steps = Table(
    "totp_steps",
    metadata,
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    Column("step", BigInteger, nullable=False),
)

# Accounts, addresses, and accounts at an address where their owner got in; each by a hash.
attempts = Table(
    "attempts",
    metadata,
    Column("key", String, primary_key=True),
    Column("number", Double, nullable=False),
    Column("at", Double, nullable=False),
    Column("expires_at", Double, nullable=False),
    Index("ix_attempts_expires_at", "expires_at"),
)

# Apart from the audit log, so that a person can be forgotten and the chain stays whole.
pseudonyms = Table(
    "pseudonyms",
    metadata,
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    Column("pseudonym", String, nullable=False),
    Index("ix_pseudonyms_pseudonym", "pseudonym", unique=True),
)

audit = Table(
    "audit",
    metadata,
    Column("number", CURSOR, primary_key=True, autoincrement=False),
    # As it was hashed.
    Column("entry", Text, nullable=False),
    Column("hash", String, nullable=False),
)

subscriptions = Table(
    "subscriptions",
    metadata,
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("key_hash", String, nullable=False),
    Column("hint", String, nullable=False),
    Column("rate", String),
    Column("daily_quota", BigInteger),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double),
    Column("revoked_at", Double),
    Index("ix_subscriptions_key_hash", "key_hash", unique=True),
)

usages = Table(
    "usages",
    metadata,
    Column("subscription_id", ForeignKey("subscriptions.id", ondelete="CASCADE"), nullable=False),
    Column("day", String, nullable=False),
    Column("count", BigInteger, nullable=False),
    PrimaryKeyConstraint("subscription_id", "day"),
)

signing_keys = Table(
    "signing_keys",
    metadata,
    Column("kid", String, primary_key=True),
    Column("algorithm", String, nullable=False),
    Column("jwk", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("retired_at", Double),
)
