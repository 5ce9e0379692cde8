"""Tables with the change feed, the running gateways, the URL of the gateway, and two times (the table `clock`).

The first is the time that a gateway read last from its clock while the clock was right. The second is the time at which the
cluster began.
"""

from sqlalchemy import Column, Index, PrimaryKeyConstraint

from domogate.stores import columns as col
from domogate.stores.tables._metadata import table

changes = table(
    "changes",
    Column("cursor", col.CURSOR, primary_key=True, autoincrement=False),
    *col.doubles("at"),
    *col.optional_strings("plant_id"),
    *col.texts("event"),
    Index(None, "plant_id", "cursor").ddl_if(dialect="postgresql"),
)

# Rows only on SQLite (Decision 0147).
changes_by_plant = table(
    "changes_by_plant",
    *col.strings("plant_id"),
    *col.cursors("cursor"),
    PrimaryKeyConstraint("plant_id", "cursor"),
    sqlite_with_rowid=False,
)

# One row, only on PostgreSQL (Decision 0086).
feed = table("feed", col.key("id"), *col.cursors("cursor_offset", "pruned", "structure"))

gateways = table("gateways", col.key("id"), *col.cursors("applied"), *col.doubles("seen_at"))

# One row: the URL of the gateway that started last. The row stays when the gateway stops.
address = table("address", col.key("id"), *col.texts("url"))

# The row `gateways` is written only while the clock is right, so that a wrong clock can be detected (`clock.py`). In a cluster,
# another row has the time at which the cluster began (`leases.py`).
clock = table("clock", col.key("id"), *col.doubles("seen_at"))
