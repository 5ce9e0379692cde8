"""Tables with users, clients, their credentials, and the audit log."""

from sqlalchemy import BigInteger, Boolean, Column, Index, PrimaryKeyConstraint, Text, false

from domogate.stores import columns as col
from domogate.stores.tables._metadata import table

users = table(
    "users",
    col.key("id"),
    *col.strings("email", "email_key", "name"),
    *col.optional_strings("password_hash"),
    *col.strings("standing"),
    Column("operator", Boolean, nullable=False, server_default=false()),
    *col.optional_strings("totp_secret"),
    Column("email_verified", Boolean, nullable=False, server_default=false()),
    *col.optional_strings("language", "page_language", "terms_version"),
    Index(None, "email_key", unique=True),
)

clients = table(
    "clients",
    col.key("id"),
    *col.strings("name"),
    *col.optional_strings("secret_hash"),
    *col.texts("redirect_uris", "origins", "grants", "scopes"),
    *col.flags("access_token_everywhere"),
    Column("pkce_exempt", Boolean, nullable=False, server_default=false()),
    Column("post_logout_redirect_uris", Text, nullable=False, server_default="[]"),
)

grants = table(
    "grants",
    col.key("id"),
    col.reference("user_id", "users.id"),
    col.reference("client_id", "clients.id"),
    *col.texts("scopes"),
    *col.strings("flow"),
    *col.doubles("created_at"),
    *col.optional_doubles("revoked_at", "auth_time"),
    Column("factors", Text, nullable=False, server_default="[]"),
    *col.optional_texts("plants"),
    *col.indexes("user_id", "client_id"),
)

sessions = table(
    "sessions",
    col.key("id"),
    *col.strings("token_hash"),
    col.reference("user_id", "users.id", cascade=True),
    *col.doubles("auth_time", "created_at", "seen_at", "expires_at"),
    *col.strings("address", "agent"),
    *col.texts("factors"),
    Index(None, "token_hash", unique=True),
    *col.indexes("user_id", "expires_at"),
)

# Codes and refresh tokens have no client column: the client is in their grant.
authorization_codes = table(
    "authorization_codes",
    col.key("code_hash"),
    col.reference("grant_id", "grants.id", cascade=True),
    *col.doubles("expires_at"),
    *col.optional_texts("redirect_uri"),
    *col.optional_strings("code_challenge"),
    # JSON text, because a nonce may contain NUL, which PostgreSQL refuses.
    *col.optional_texts("nonce"),
    *col.optional_doubles("used_at"),
    *col.indexes("grant_id", "expires_at"),
)

refresh_tokens = table(
    "refresh_tokens",
    col.key("token_hash"),
    col.reference("grant_id", "grants.id", cascade=True),
    *col.doubles("created_at", "expires_at"),
    *col.optional_doubles("replaced_at"),
    # No foreign key: the successor may be pruned before this row.
    *col.optional_strings("successor_hash"),
    *col.indexes("grant_id", "expires_at"),
)

links = table(
    "links",
    col.key("token_hash"),
    col.reference("user_id", "users.id", cascade=True),
    *col.strings("purpose"),
    *col.doubles("expires_at"),
    *col.optional_strings("sent_to"),
    Index(None, "user_id", "purpose", unique=True),
    *col.indexes("expires_at"),
)

# Not in `users`, because whole rows of `users` are compared and replaced.
totp_steps = table(
    "totp_steps",
    col.reference("user_id", "users.id", cascade=True, primary_key=True),
    Column("step", BigInteger, nullable=False),
)

recovery_codes = table(
    "recovery_codes",
    col.reference("user_id", "users.id", cascade=True),
    *col.strings("code_hash"),
    PrimaryKeyConstraint("user_id", "code_hash"),
)

passkeys = table(
    "passkeys",
    col.key("id"),
    col.reference("user_id", "users.id", cascade=True),
    *col.strings("credential_id", "user_handle", "public_key"),
    Column("sign_count", BigInteger, nullable=False),
    *col.strings("name"),
    *col.doubles("created_at"),
    *col.optional_doubles("used_at"),
    Index(None, "credential_id", unique=True),
    *col.indexes("user_id"),
)

# An account of another issuer, and the user to whom it was bound when it was first used.
external_accounts = table(
    "external_accounts",
    *col.strings("issuer", "subject"),
    col.reference("user_id", "users.id", cascade=True),
    *col.doubles("bound_at"),
    PrimaryKeyConstraint("issuer", "subject"),
    Index(None, "user_id", "issuer", unique=True),
)

# The keys are hashes of an account, of an address, or of an account together with a familiar address.
attempts = table("attempts", col.key("key"), *col.doubles("number", "at", "expires_at"), *col.indexes("expires_at"))

# Not in `audit`: the hash chain stays valid when a user is deleted.
pseudonyms = table(
    "pseudonyms",
    col.reference("user_id", "users.id", cascade=True, primary_key=True),
    *col.strings("pseudonym"),
    Index(None, "pseudonym", unique=True),
)

audit = table(
    "audit",
    Column("number", col.CURSOR, primary_key=True, autoincrement=False),
    # The exact text from which the hash was made.
    *col.texts("entry"),
    *col.strings("hash"),
)

# The clients that people registered for themselves. Not a column of `clients`, because an estate file replaces whole rows of
# that table.
owned_clients = table(
    "owned_clients",
    col.reference("client_id", "clients.id", cascade=True, primary_key=True),
    col.reference("user_id", "users.id", cascade=True),
    *col.indexes("user_id"),
)
