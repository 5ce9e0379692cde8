"""Tables with subscription keys and their usage, signing keys, and the id of the key that encrypts secrets."""

from sqlalchemy import BigInteger, Column, Index, PrimaryKeyConstraint

from domogate.stores import columns as col
from domogate.stores.tables._metadata import table

subscriptions = table(
    "subscriptions",
    col.key("id"),
    *col.strings("name", "key_hash", "hint"),
    *col.optional_strings("rate"),
    Column("daily_quota", BigInteger),
    *col.doubles("created_at"),
    *col.optional_doubles("expires_at", "revoked_at"),
    Index(None, "key_hash", unique=True),
)

usages = table(
    "usages",
    col.reference("subscription_id", "subscriptions.id", cascade=True),
    *col.strings("day"),
    Column("count", BigInteger, nullable=False),
    PrimaryKeyConstraint("subscription_id", "day"),
)

# The subscriptions that people registered for themselves. Not a column of `subscriptions`, because an estate file replaces
# whole rows of that table.
owned_subscriptions = table(
    "owned_subscriptions",
    col.reference("subscription_id", "subscriptions.id", cascade=True, primary_key=True),
    col.reference("user_id", "users.id", cascade=True),
    *col.indexes("user_id"),
)

# One row with the id of the key that encrypts the secrets in this database. The key itself is not in the database.
secret_key = table("secret_key", col.key("id"))

signing_keys = table(
    "signing_keys",
    col.key("kid"),
    *col.strings("algorithm"),
    *col.texts("jwk"),
    *col.doubles("created_at"),
    *col.optional_doubles("retired_at"),
)
