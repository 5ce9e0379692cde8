"""The revisions of the database that this version knows. A revision is the number of a migration.

This file imports no library, so that a short command can compare the revision of a database without SQLAlchemy (Decision 0098).
"""

from domogate import __version__

HEAD = "0031"
"""The newest revision in `migrations/`. A database with this revision is opened without loading Alembic."""
OLDEST_BESIDE = "0024"
"""Gateways of this revision or a later revision can run on the same database as gateways with this code.

The migrations after this revision only add tables, columns and indexes. The exception is a migration that removes an index of
SQLite (Decision 0147).
"""


def explain_too_new(what: str, revision: str) -> str:
    return (
        f"{what} has revision {revision}, and Domogate {__version__} knows the revisions up to {HEAD}: a newer version of"
        " Domogate has used it."
    )
