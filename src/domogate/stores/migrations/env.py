"""Alembic runs this file to migrate the database. It uses the connection that `migrate.py` passes."""

from alembic import context

from domogate.stores.tables._metadata import metadata

# `metadata` has the rule for the names of indexes.
context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
