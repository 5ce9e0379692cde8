"""Tables with the members of a cluster and the shards that they hold. Only gateways on PostgreSQL use these tables."""

from sqlalchemy import Column, Integer

from domogate.stores import columns as col
from domogate.stores.tables._metadata import table

# `lease_until` is on the clock of the database, `started_at` on the clock of the member.
leases = table(
    "leases",
    col.key("id"),
    *col.strings("name", "url", "version"),
    *col.doubles("started_at", "lease_until"),
    *col.flags("is_leaving"),
    *col.optional_strings("cluster", "link"),
)

# A gateway that joins adds missing rows. The epoch grows each time the holder changes.
shards = table(
    "shards",
    Column("shard", Integer, primary_key=True, autoincrement=False),
    *col.optional_strings("holder"),
    *col.cursors("epoch"),
)
