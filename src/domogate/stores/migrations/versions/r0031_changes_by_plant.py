"""On SQLite, replaces an index of the table `changes` by the table `changes_by_plant` (Decision 0147)."""

import sqlalchemy as sa
from alembic import op

from domogate.stores import columns as col

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    op.create_table(
        "changes_by_plant",
        *col.strings("plant_id"),
        *col.cursors("cursor"),
        sa.PrimaryKeyConstraint("plant_id", "cursor"),
        sqlite_with_rowid=False,
    )
    if op.get_bind().dialect.name == "sqlite":
        op.drop_index("ix_changes_plant_id_cursor", "changes")
        op.execute(
            "INSERT INTO changes_by_plant (plant_id, cursor)"
            " SELECT plant_id, cursor FROM changes WHERE plant_id IS NOT NULL"
            " UNION ALL SELECT '', max(cursor) FROM changes HAVING count(*) > 0 ORDER BY 1, 2"
        )
