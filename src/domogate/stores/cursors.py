"""The cursors of the change feed.

On SQLite one process writes at a time, and cursors are consecutive numbers. On PostgreSQL several gateways commit side by side,
and a cursor contains the number of its transaction (Decision 0086). So a change can become visible after a change with a higher
cursor. A reader of the feed therefore needs the cursor up to which no further change can appear.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, Connection, Row, bindparam, func, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from domogate.domain.events import Change
from domogate.stores.codec import decode_event
from domogate.stores.tables.feed import changes

Rows = Sequence[Row[*tuple[Any, ...]]]

MOST_EVENTS = 0xFFFF
"""The number of cursors that each transaction has for its events. A transaction with more events calls `reserve_cursors`.

On PostgreSQL, a cursor has 16 bits for the number of the event in its transaction.
"""

SELECT_CHANGES = select(changes.c.cursor, changes.c.at, changes.c.event).order_by(changes.c.cursor)
CHANGES_BETWEEN = SELECT_CHANGES.where(changes.c.cursor > bindparam("after"), changes.c.cursor <= bindparam("until"))
_MAX = select(func.max(changes.c.cursor)).scalar_subquery()
_MIN = select(func.min(changes.c.cursor)).scalar_subquery()


class CompleteCursor(FunctionElement[int]):
    """An SQL function: the cursor up to which a snapshot has every change. No change up to this cursor can appear later."""

    name = "complete_cursor"
    type = BigInteger()
    inherit_cache = True


class CompleteCursorOf(FunctionElement[int]):
    """An SQL function: the cursor up to which a snapshot has every change of a plant. Its argument is the id of the plant."""

    name = "complete_cursor_of"
    type = BigInteger()
    inherit_cache = True


class OldestCursor(FunctionElement[int]):
    """An SQL function: the first cursor after the pruned changes."""

    name = "oldest_cursor"
    type = BigInteger()
    inherit_cache = True


@compiles(CompleteCursor)
@compiles(CompleteCursorOf)
def _print_newest(_element: FunctionElement[int], compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(_MAX, **options)


@compiles(OldestCursor)
def _print_oldest(_element: FunctionElement[int], compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(_MIN, **options)


_COMPLETE = select(CompleteCursor())
_SPAN = select(OldestCursor(), _MAX)


def complete_cursor(connection: Connection) -> int:
    """Return the cursor up to which this snapshot has every change."""
    return connection.execute(_COMPLETE).scalar() or 0


def feed_span(connection: Connection) -> tuple[int, int]:
    oldest, newest = connection.execute(_SPAN).one()
    return (oldest or 0, newest) if newest else (0, 0)


def changes_from_rows(rows: Iterable[Row[*tuple[Any, ...]]]) -> list[Change]:
    return [Change(row.cursor, row.at, decode_event(row.event)) for row in rows]


class TransactionStart(NamedTuple):
    """The place in the change feed at which a write transaction begins."""

    position: int
    """The first event of the transaction gets the next cursor after `position`.

    No other transaction uses the cursors of this transaction.
    """
    newest: int
    """The cursor of the newest change that the transaction sees."""
    structure: int = 0
    """A number that changes when a transaction with the exclusive lock for writes has changed plants or states."""
    pruned: int = 0
    """All changes up to this cursor are removed. It is 0 on SQLite, where no other process removes changes."""


class FeedRead(NamedTuple):
    """A page of the change feed, as it was read from the database."""

    rows: Rows
    position: int
    """No change up to this cursor can appear later. After the last page, the reader has all changes up to this cursor."""
    newest: int
    """The cursor of the newest visible change. It can be after `position`."""
    is_lost: bool = False
    """Whether changes that this reader needs are not stored any more."""
