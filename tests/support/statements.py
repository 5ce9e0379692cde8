"""What a statement is in SQLite's words is found out once a process, not once a store: most tests open a store of their own.

The stores of a process share nothing but those words, and the dialect that SQLAlchemy keeps them by.
"""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Engine, create_engine
from sqlalchemy.util import LRUCache

from domogate.stores import engine

_STATEMENTS_KEPT = 5_000


def compile_statements_once() -> Callable[[], None]:
    """From now on in this process; what is returned undoes it."""
    acquainted = create_engine("sqlite://")
    acquainted.connect().close()  # a dialect asks at its first connection what it has to do with
    acquainted.dispose()
    compiled: LRUCache[Any, Any] = LRUCache(_STATEMENTS_KEPT)

    def create_sharing_engine(*args: Any, **options: Any) -> Engine:
        made = create_engine(*args, **options)
        if made.dialect.name == acquainted.dialect.name:
            made.dialect = acquainted.dialect
            made._compiled_cache = compiled
        return made

    engine.create_engine = create_sharing_engine

    def compile_for_each_engine() -> None:
        engine.create_engine = create_engine

    return compile_for_each_engine
