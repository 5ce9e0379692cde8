"""Short functions that make the columns and indexes of tables and migrations.

Do not change their results. A migration must always create the same tables.
"""

from collections.abc import Callable
from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, Double, ForeignKey, Index, Integer, LargeBinary, String, Text
from sqlalchemy.types import TypeEngine

# SQLite uses the key as the row number only if its type is INTEGER.
CURSOR = BigInteger().with_variant(Integer(), "sqlite")


def _columns(kind: type[TypeEngine[Any]] | TypeEngine[Any], *, optional: bool = False) -> Callable[..., list[Column[Any]]]:
    def make(*names: str) -> list[Column[Any]]:
        return [Column(name, kind, nullable=optional) for name in names]

    return make


strings = _columns(String)
optional_strings = _columns(String, optional=True)
texts = _columns(Text)
optional_texts = _columns(Text, optional=True)
optional_binaries = _columns(LargeBinary, optional=True)
doubles = _columns(Double)
optional_doubles = _columns(Double, optional=True)
integers = _columns(Integer)
flags = _columns(Boolean)
cursors = _columns(CURSOR)


def key(name: str) -> Column[str]:
    return Column(name, String, primary_key=True)


def reference(
    name: str, target: str, *, cascade: bool = False, optional: bool = False, primary_key: bool = False
) -> Column[str]:
    """Return a column with a foreign key.

    If `cascade` is true, a row with this column depends on the row that the column refers to. When that row is removed, the
    database also removes the row with this column.
    """
    refers_to = ForeignKey(target, ondelete="CASCADE" if cascade else None)
    return Column(name, String, refers_to, nullable=optional, primary_key=primary_key)


def indexes(*columns: str) -> list[Index]:
    """Return an index for each of these columns. The name of an index becomes ix_TABLE_COLUMN."""
    return [Index(None, column) for column in columns]
