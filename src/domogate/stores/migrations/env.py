"""Alembic runs this file to migrate the database. It uses the connection that `migrate.py` passes."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
with context.begin_transaction():
    context.run_migrations()
