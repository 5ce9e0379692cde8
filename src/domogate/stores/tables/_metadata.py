"""The collection of all tables."""

from typing import Any

from sqlalchemy import Column, ColumnElement, Index, MetaData, Table
from sqlalchemy.schema import SchemaItem

metadata = MetaData(naming_convention={"ix": "ix_%(table_name)s_%(column_0_N_name)s"})


def table(name: str, *items: SchemaItem, **options: Any) -> Table:
    """Add a table to `metadata`, and return the table. An index without a name gets the name ix_TABLE_COLUMN."""
    return Table(name, metadata, *items, **options)


partial_indexes: list[Index] = []
"""The indexes that have only some of the rows."""


def partial_index(name: str, column: Column[Any], where: ColumnElement[bool]) -> None:
    """Add an index of the rows for which `where` is true.

    `stores/postgres.py` sets the same condition for PostgreSQL. If this function set the condition for PostgreSQL too,
    this file would import all code for PostgreSQL (Decision 0098).
    """
    partial_indexes.append(Index(name, column, sqlite_where=where))
