"""The SQLite databases of a process share their compiled statements."""

from pathlib import Path

from sqlalchemy import Engine, func, literal_column, make_url, select
from sqlalchemy.engine.interfaces import CacheStats

from domogate.stores.opening import sqlite_url
from domogate.stores.sqlite import SqliteDatabase


def is_compiled_before(engine: Engine, name: str) -> bool:
    """Execute a statement. Whether SQLAlchemy had compiled it before."""
    with engine.begin() as connection:
        result = connection.execute(select(func.abs(literal_column("1")).label(name)))
        assert result.scalar_one() == 1
        return result.context.cache_hit is CacheStats.CACHE_HIT


class TestSharedStatements:
    def test_a_statement_is_compiled_once_in_a_process(self, tmp_path: Path) -> None:
        name = tmp_path.name.replace("-", "_")
        first, second = (SqliteDatabase(make_url(sqlite_url(tmp_path / file))) for file in ("first", "second"))
        try:
            found = [is_compiled_before(engine, name) for one in (first, second) for engine in (one.writing, one.reading)]
        finally:
            first.close()
            second.close()
        assert found == [False, True, True, True]
