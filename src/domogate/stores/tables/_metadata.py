"""The collection of all tables."""

from typing import Any

from sqlalchemy import Index, MetaData, Table
from sqlalchemy.schema import SchemaItem

metadata = MetaData(naming_convention={"ix": "ix_%(table_name)s_%(column_0_N_name)s"})


def table(name: str, *items: SchemaItem, **options: Any) -> Table:
    """Add a table. An index without a name gets the name ix_TABLE_COLUMN."""
    return Table(name, metadata, *items, **options)


def indexes(*columns: str) -> list[Index]:
    """Return an index for each column."""
    return [Index(None, column) for column in columns]
