"""Adds to each module whether an estate file names its driver.

Adds to each logbook entry whether its device is simulated.
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    # It is not known which of the existing modules got the simulator only because their estate file named no driver.
    op.add_column("modules", sa.Column("driver_named", sa.Boolean, nullable=False, server_default=sa.false()))
    op.execute("UPDATE modules SET driver_named = (1 = 1) WHERE driver <> 'simulator' OR kind = 'scene'")
    op.add_column("logbook", sa.Column("simulated", sa.Boolean, nullable=False, server_default=sa.false()))
    op.execute(
        "UPDATE logbook SET simulated = (1 = 1) WHERE \"by\" = ''"
        " AND module_id IN (SELECT id FROM modules WHERE driver = 'simulator')"
    )
