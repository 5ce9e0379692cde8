"""The tables as the code reads and writes them; the database itself is made by `migrations/` only.

Times are seconds since the epoch. Lists and what only a kind or a driver understands are JSON text (`codec.py`).
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    false,
)

metadata = MetaData()

# SQLite makes a key its row number only when it is spelled INTEGER.
CURSOR = BigInteger().with_variant(Integer(), "sqlite")

changes = Table(
    "changes",
    metadata,
    Column("cursor", CURSOR, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("plant_id", String),
    Column("event", Text, nullable=False),
    Index("ix_changes_plant_id_cursor", "plant_id", "cursor"),
)

gateways = Table(
    "gateways",
    metadata,
    Column("id", String, primary_key=True),
    Column("applied", CURSOR, nullable=False),
    Column("seen_at", Double, nullable=False),
)

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

plants = Table(
    "plants",
    metadata,
    Column("id", String, primary_key=True),
    Column("internal_id", String, nullable=False),
    Column("name", String, nullable=False),
    Column("type", String, nullable=False),
    Column("status", String, nullable=False),
    Column("removed_at", Double),
    Column("country", String),
    Column("zip_code", String),
    Column("address", String),
    Column("marked_as_site", Boolean, nullable=False),
)

members = Table(
    "members",
    metadata,
    Column("plant_id", ForeignKey("plants.id", ondelete="CASCADE"), nullable=False),
    Column("user_id", ForeignKey("users.id"), nullable=False),
    Column("owner", Boolean, nullable=False),
    Column("position", Integer, nullable=False),
    PrimaryKeyConstraint("plant_id", "user_id"),
    Index("ix_members_user_id", "user_id"),
)

invitations = Table(
    "invitations",
    metadata,
    Column("plant_id", ForeignKey("plants.id", ondelete="CASCADE"), nullable=False),
    Column("email_key", String, nullable=False),
    Column("email", String, nullable=False),
    Column("position", Integer, nullable=False),
    PrimaryKeyConstraint("plant_id", "email_key"),
    Index("ix_invitations_email_key", "email_key"),
)

floors = Table(
    "floors",
    metadata,
    Column("id", String, primary_key=True),
    Column("plant_id", ForeignKey("plants.id"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("internal_id", String, nullable=False),
    Column("name", String, nullable=False),
    Index("ix_floors_plant_id", "plant_id"),
)

ambients = Table(
    "ambients",
    metadata,
    Column("id", String, primary_key=True),
    Column("plant_id", ForeignKey("plants.id"), nullable=False),
    Column("floor_id", ForeignKey("floors.id")),
    Column("position", Integer, nullable=False),
    Column("internal_id", String, nullable=False),
    Column("name", String, nullable=False),
    Column("type", String, nullable=False),
    Index("ix_ambients_plant_id", "plant_id"),
    Index("ix_ambients_floor_id", "floor_id"),
)

modules = Table(
    "modules",
    metadata,
    Column("id", String, primary_key=True),
    Column("plant_id", ForeignKey("plants.id"), nullable=False),
    Column("ambient_id", ForeignKey("ambients.id")),
    Column("position", Integer, nullable=False),
    Column("internal_id", String, nullable=False),
    Column("name", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("driver", String, nullable=False),
    Column("type", String),
    Column("hw_type", String),
    Column("device_type", String),
    Column("metrics", Text),
    Column("capabilities", Text),
    Column("detail", Text),
    Column("options", Text, nullable=False),
    Column("controller_id", String),
    # An emergency unit's reference, taken out of `detail` so that E19 can look it up.
    Column("reference", String),
    Index("ix_modules_plant_id_kind", "plant_id", "kind"),
    Index("ix_modules_driver_plant_id", "driver", "plant_id"),
    Index("ix_modules_ambient_id", "ambient_id"),
    Index("ix_modules_reference", "reference"),
)

states = Table(
    "states",
    metadata,
    Column("module_id", ForeignKey("modules.id", ondelete="CASCADE"), primary_key=True),
    Column("state", Text),
    Column("reachable", Boolean, nullable=False),
    Column("at", Double, nullable=False),
    Column("absence", Text),
    sqlite_with_rowid=False,
)

# What a module measures, by a number: readings that named their module would be six times the size.
series = Table(
    "series",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("module_id", ForeignKey("modules.id", ondelete="CASCADE"), nullable=False),
    Column("measure", String, nullable=False),
    Column("unit", String, nullable=False),
    Index("ix_series_module_id_measure_unit", "module_id", "measure", "unit", unique=True),
    # A number is never given twice: readings of a module that is gone stay until their hour is summarised.
    sqlite_autoincrement=True,
)

# By hour first (of the epoch, with milliseconds in it): hours are written, summarised and forgotten one after the other, so
# that all of it happens at the two ends of one tree, which needs no index besides.
raw_readings = Table(
    "raw_readings",
    metadata,
    Column("hour", Integer, nullable=False),
    Column("series", Integer, nullable=False),
    Column("ms", Integer, nullable=False),
    Column("value", Double, nullable=False),
    PrimaryKeyConstraint("hour", "series", "ms"),
    sqlite_with_rowid=False,
)

hourly_readings = Table(
    "hourly_readings",
    metadata,
    Column("series", ForeignKey("series.id", ondelete="CASCADE"), nullable=False),
    Column("hour", Integer, nullable=False),
    Column("count", Integer, nullable=False),
    Column("mean", Double, nullable=False),
    Column("low", Double, nullable=False),
    Column("high", Double, nullable=False),
    Column("last", Double, nullable=False),
    # When in the hour `last` was measured: what comes late finds its place.
    Column("last_ms", Integer, nullable=False),
    PrimaryKeyConstraint("series", "hour"),
    Index("ix_hourly_readings_hour", "hour"),
    sqlite_with_rowid=False,
)

# No foreign keys: what was ordered is told even of a module that is gone.
orders = Table(
    "orders",
    metadata,
    Column("id", String, primary_key=True),
    Column("plant_id", String, nullable=False),
    Column("module_id", String, nullable=False),
    Column("command", Text, nullable=False),
    Column("deadline", Double, nullable=False),
    Column("state", String, nullable=False),
    Column("queued_at", Double, nullable=False),
    Column("sent_at", Double),
    Column("ended_at", Double),
    Column("problem", Text, nullable=False),
    Index("ix_orders_queued_at", "queued_at"),
    Index("ix_orders_plant_id_queued_at", "plant_id", "queued_at"),
)
# Those that have not ended: few, however many there were.
Index(
    "ix_orders_open",
    orders.c.deadline,
    sqlite_where=orders.c.ended_at.is_(None),
    postgresql_where=orders.c.ended_at.is_(None),
)

# Of a plant or of a module, never both: where a module stands is told in one place.
injections = Table(
    "injections",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("plant_id", ForeignKey("plants.id", ondelete="CASCADE")),
    Column("module_id", ForeignKey("modules.id", ondelete="CASCADE")),
    Column("fault", String, nullable=False),
    Column("value", String, nullable=False),
    Column("until", Double),
    Column("covers", Text),
    Index("ix_injections_plant_id_fault", "plant_id", "fault", unique=True),
    Index("ix_injections_module_id_fault", "module_id", "fault", unique=True),
)

spare_parts = Table(
    "spare_parts",
    metadata,
    Column("unit", String, primary_key=True),
    Column("parts", Text, nullable=False),
)
