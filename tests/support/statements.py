"""Statements are compiled for SQLite once in a process, not once for each store: most tests open their own store.

The stores of a process share only the compiled statements and the dialect.
"""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Engine, create_engine
from sqlalchemy.util import LRUCache

from domogate.stores import sqlite

_STATEMENTS_KEPT = 5_000


def compile_statements_once() -> Callable[[], None]:
    """Share compiled statements in this process from now on. Call the result to undo it."""
    shared = create_engine("sqlite://")
    shared.connect().close()  # the dialect initialises itself at the first connection
    shared.dispose()
    compiled: LRUCache[Any, Any] = LRUCache(_STATEMENTS_KEPT)

    def create_sharing_engine(*args: Any, **options: Any) -> Engine:
        made = create_engine(*args, **options)
        if made.dialect.name == shared.dialect.name:
            made.dialect = shared.dialect
            made._compiled_cache = compiled
        return made

    vars(sqlite)["create_engine"] = create_sharing_engine

    def compile_for_each_engine() -> None:
        vars(sqlite)["create_engine"] = create_engine

    return compile_for_each_engine
