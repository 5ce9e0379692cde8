"""Statements that the database driver executes without SQLAlchemy."""

import asyncio
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import psycopg
import pytest
from sqlalchemy import bindparam, insert, select
from sqlalchemy.exc import DBAPIError, IntegrityError

from domogate import stores
from domogate.stores import SqlStore, sqlite_url
from domogate.stores.direct import DirectStatement, execute_text
from domogate.stores.engine import Transaction
from domogate.stores.migrate import migrate
from domogate.stores.opening import open_database
from domogate.stores.subject import writes
from domogate.stores.tables.notices import used_tickets
from support.stores import OpenStore

ADD = DirectStatement(insert(used_tickets))
FIND = DirectStatement(select(used_tickets).where(used_tickets.c.id == bindparam("ticket_id")))


def add(tx: Transaction, ticket_id: str) -> None:
    ADD.execute(tx.connection, {"id": ticket_id, "expires_at": 5.0})


def find(tx: Transaction, ticket_id: str) -> tuple[Any, Any]:
    given = {"ticket_id": ticket_id}
    return FIND.first(tx.connection, given), FIND.scalar(tx.connection, given)


def misspell(tx: Transaction) -> None:
    execute_text(tx.connection, "SELEKT 1")


def insert_twice(tx: Transaction, ticket_id: str) -> None:
    tx.database.insert_rows(tx.connection, used_tickets, [(ticket_id, 5.0), (ticket_id, 5.0)])


def list_direct_statements() -> list[DirectStatement]:
    """Return the direct statements of all modules of the stores, without those that only PostgreSQL has."""
    names = [module.name for module in iter_modules(stores.__path__) if module.name != "postgres"]
    modules = [import_module(f"domogate.stores.{name}") for name in names]
    found = {id(value): value for module in modules for value in vars(module).values() if isinstance(value, DirectStatement)}
    return list(found.values())


def add_many(tx: Transaction, ticket_ids: list[str], at: float, *, replacing: bool = False) -> None:
    rows = [(ticket_id, at + number) for number, ticket_id in enumerate(ticket_ids)]
    adding = tx.database.bulk(tx.database.upsert(used_tickets)) if replacing else ADD
    adding.execute_tuples(tx.connection, used_tickets.columns.keys(), rows)


def list_all(tx: Transaction) -> dict[str, float]:
    return {row.id: row.expires_at for row in tx.connection.execute(select(used_tickets))}


class TestManyRows:
    """On SQLite, one statement inserts 32 or 8 rows; the rest of the rows are inserted one by one."""

    @pytest.mark.parametrize("number", [0, 1, 7, 8, 9, 31, 32, 33, 40, 41, 107])
    async def test_each_row_is_inserted_once(self, store: SqlStore, number: int) -> None:
        names = [f"{one}" for one in range(number)]
        await writes(add_many)(store, names, 5.0)
        assert await writes(list_all)(store) == {name: 5.0 + one for one, name in enumerate(names)}

    async def test_rows_with_the_same_key_replace_each_other_in_their_order(self, store: SqlStore) -> None:
        names = [f"{one % 30}" for one in range(100)]
        await writes(add_many)(store, names, 0.0, replacing=True)
        assert await writes(list_all)(store) == {name: float(one) for one, name in enumerate(names)}

    @pytest.mark.parametrize("twice", [0, 35, 41])
    async def test_a_row_that_is_refused_refuses_all_without_their_values(self, store: SqlStore, twice: int) -> None:
        names = [f"{one}" for one in range(42)]
        await writes(add)(store, names[twice])
        with pytest.raises(IntegrityError) as refused:
            await writes(add_many)(store, names, 0.0)
        assert refused.value.params is None
        assert await writes(list_all)(store) == {names[twice]: 5.0}


class TestDirectStatement:
    async def test_none_walks_through_a_whole_table(self, tmp_path: Path) -> None:
        """`test_engine.py` checks the other statements, but does not see direct statements."""
        database = open_database(sqlite_url(tmp_path / "x.db"))
        migrate(database)
        with database.writing.begin() as connection:
            for direct in list_direct_statements():
                compiled = direct.statement.compile(dialect=connection.dialect)
                values = tuple("x" for _ in compiled.positiontup or ())
                plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled}", values).all()
                assert not [row for row in plan if "SCAN" in row[3] and row[3] != "SCAN CONSTANT ROW"], compiled
        database.close()

    async def test_writes_and_reads_like_sqlalchemy(self, store: SqlStore) -> None:
        await writes(add)(store, "one")
        assert await writes(find)(store, "one") == ({"id": "one", "expires_at": 5.0}, "one")
        assert await writes(find)(store, "two") == (None, None)

    async def test_raises_the_errors_of_sqlalchemy_without_the_values(self, store: SqlStore) -> None:
        await writes(add)(store, "secret")
        with pytest.raises(IntegrityError) as refused:
            await writes(add)(store, "secret")
        assert refused.value.params is None

    async def test_many_rows_raise_the_same_errors(self, store: SqlStore) -> None:
        with pytest.raises(IntegrityError):
            await writes(insert_twice)(store, "one")
        await writes(add)(store, "one")

    @pytest.mark.slow
    async def test_that_fails_closes_its_cursor(
        self, open_store: OpenStore, postgres_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = await open_store(postgres_url)
        failing: list[psycopg.Cursor[Any]] = []
        execute: Any = psycopg.Cursor.execute

        def note(cursor: psycopg.Cursor[Any], query: str, *arguments: Any, **options: Any) -> Any:
            if query == "SELEKT 1":
                failing.append(cursor)
            return execute(cursor, query, *arguments, **options)

        monkeypatch.setattr(psycopg.Cursor, "execute", note)
        with pytest.raises(DBAPIError):
            await writes(misspell)(store)
        assert failing
        assert all(cursor.closed for cursor in failing)

    async def test_that_fails_does_not_touch_the_other_writes_of_the_commit(self, store: SqlStore) -> None:
        await writes(add)(store, "one")
        answers = await asyncio.gather(
            *(writes(add)(store, ticket_id) for ticket_id in ("two", "one", "three")),
            writes(misspell)(store),
            return_exceptions=True,
        )
        assert [type(answer) for answer in answers[:3]] == [type(None), IntegrityError, type(None)]
        assert isinstance(answers[3], DBAPIError)
        found = await asyncio.gather(*(writes(find)(store, ticket_id) for ticket_id in ("one", "two", "three")))
        assert [scalar for _, scalar in found] == ["one", "two", "three"]
