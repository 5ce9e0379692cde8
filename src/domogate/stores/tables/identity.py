"""Users, clients, credentials, keys, and the audit log."""

from sqlalchemy import BigInteger, Boolean, Column, Index, PrimaryKeyConstraint, Table, Text, false

from domogate.stores import columns as col
from domogate.stores.tables._metadata import metadata

users = Table(
    "users",
    metadata,
    col.key("id"),
    *col.strings("email", "email_key", "name"),
    *col.optional_strings("password_hash"),
    *col.strings("standing"),
    Column("operator", Boolean, nullable=False, server_default=false()),
    *col.optional_strings("totp_secret"),
    Column("email_verified", Boolean, nullable=False, server_default=false()),
    Index("ix_users_email_key", "email_key", unique=True),
)

clients = Table(
    "clients",
    metadata,
    col.key("id"),
    *col.strings("name"),
    *col.optional_strings("secret_hash"),
    *col.texts("redirect_uris", "origins", "grants", "scopes"),
    *col.flags("access_token_everywhere"),
    Column("pkce_exempt", Boolean, nullable=False, server_default=false()),
    Column("post_logout_redirect_uris", Text, nullable=False, server_default="[]"),
)

grants = Table(
    "grants",
    metadata,
    col.key("id"),
    col.reference("user_id", "users.id"),
    col.reference("client_id", "clients.id"),
    *col.texts("scopes"),
    *col.strings("flow"),
    *col.doubles("created_at"),
    *col.optional_doubles("revoked_at", "auth_time"),
    Column("factors", Text, nullable=False, server_default="[]"),
    Index("ix_grants_user_id", "user_id"),
    Index("ix_grants_client_id", "client_id"),
)

sessions = Table(
    "sessions",
    metadata,
    col.key("id"),
    *col.strings("token_hash"),
    col.reference("user_id", "users.id", cascade=True),
    *col.doubles("auth_time", "created_at", "seen_at", "expires_at"),
    *col.strings("address", "agent"),
    *col.texts("factors"),
    Index("ix_sessions_token_hash", "token_hash", unique=True),
    Index("ix_sessions_user_id", "user_id"),
    Index("ix_sessions_expires_at", "expires_at"),
)

# Codes and refresh tokens have no client column: the client is in their grant.
authorization_codes = Table(
    "authorization_codes",
    metadata,
    col.key("code_hash"),
    col.reference("grant_id", "grants.id", cascade=True),
    *col.doubles("expires_at"),
    *col.optional_texts("redirect_uri"),
    *col.optional_strings("code_challenge"),
    # JSON text, because a nonce may contain NUL, which PostgreSQL refuses.
    *col.optional_texts("nonce"),
    *col.optional_doubles("used_at"),
    Index("ix_authorization_codes_grant_id", "grant_id"),
    Index("ix_authorization_codes_expires_at", "expires_at"),
)

refresh_tokens = Table(
    "refresh_tokens",
    metadata,
    col.key("token_hash"),
    col.reference("grant_id", "grants.id", cascade=True),
    *col.doubles("created_at", "expires_at"),
    *col.optional_doubles("replaced_at"),
    # No foreign key: the successor may be pruned before this row.
    *col.optional_strings("successor_hash"),
    Index("ix_refresh_tokens_grant_id", "grant_id"),
    Index("ix_refresh_tokens_expires_at", "expires_at"),
)

links = Table(
    "links",
    metadata,
    col.key("token_hash"),
    col.reference("user_id", "users.id", cascade=True),
    *col.strings("purpose"),
    *col.doubles("expires_at"),
    *col.optional_strings("sent_to"),
    Index("ix_links_user_id_purpose", "user_id", "purpose", unique=True),
    Index("ix_links_expires_at", "expires_at"),
)

# Not in `users`, because whole rows of `users` are compared and replaced.
totp_steps = Table(
    "totp_steps",
    metadata,
    col.reference("user_id", "users.id", cascade=True, primary_key=True),
    Column("step", BigInteger, nullable=False),
)

recovery_codes = Table(
    "recovery_codes",
    metadata,
    col.reference("user_id", "users.id", cascade=True),
    *col.strings("code_hash"),
    PrimaryKeyConstraint("user_id", "code_hash"),
)

passkeys = Table(
    "passkeys",
    metadata,
    col.key("id"),
    col.reference("user_id", "users.id", cascade=True),
    *col.strings("credential_id", "user_handle", "public_key"),
    Column("sign_count", BigInteger, nullable=False),
    *col.strings("name"),
    *col.doubles("created_at"),
    *col.optional_doubles("used_at"),
    Index("ix_passkeys_credential_id", "credential_id", unique=True),
    Index("ix_passkeys_user_id", "user_id"),
)

# An account of another issuer, and the user to whom it was bound when it was first used.
external_accounts = Table(
    "external_accounts",
    metadata,
    *col.strings("issuer", "subject"),
    col.reference("user_id", "users.id", cascade=True),
    *col.doubles("bound_at"),
    PrimaryKeyConstraint("issuer", "subject"),
    Index("ix_external_accounts_user_id_issuer", "user_id", "issuer", unique=True),
)

# The keys are hashes of an account, of an address, or of an account together with a familiar address.
attempts = Table(
    "attempts",
    metadata,
    col.key("key"),
    *col.doubles("number", "at", "expires_at"),
    Index("ix_attempts_expires_at", "expires_at"),
)

# Not in `audit`: the hash chain stays valid when a user is deleted.
pseudonyms = Table(
    "pseudonyms",
    metadata,
    col.reference("user_id", "users.id", cascade=True, primary_key=True),
    *col.strings("pseudonym"),
    Index("ix_pseudonyms_pseudonym", "pseudonym", unique=True),
)

audit = Table(
    "audit",
    metadata,
    Column("number", col.CURSOR, primary_key=True, autoincrement=False),
    # The exact text from which the hash was made.
    *col.texts("entry"),
    *col.strings("hash"),
)

subscriptions = Table(
    "subscriptions",
    metadata,
    col.key("id"),
    *col.strings("name", "key_hash", "hint"),
    *col.optional_strings("rate"),
    Column("daily_quota", BigInteger),
    *col.doubles("created_at"),
    *col.optional_doubles("expires_at", "revoked_at"),
    Index("ix_subscriptions_key_hash", "key_hash", unique=True),
)

usages = Table(
    "usages",
    metadata,
    col.reference("subscription_id", "subscriptions.id", cascade=True),
    *col.strings("day"),
    Column("count", BigInteger, nullable=False),
    PrimaryKeyConstraint("subscription_id", "day"),
)

# One row with the id of the key that encrypts the secrets in this database. The key itself is not in the database.
secret_key = Table("secret_key", metadata, col.key("id"))

signing_keys = Table(
    "signing_keys",
    metadata,
    col.key("kid"),
    *col.strings("algorithm"),
    *col.texts("jwk"),
    *col.doubles("created_at"),
    *col.optional_doubles("retired_at"),
)
