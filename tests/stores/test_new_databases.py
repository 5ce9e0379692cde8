"""A new database gets its tables at once. They are the tables that all migrations make (Decision 0103)."""

from collections.abc import Callable

from sqlalchemy import Connection, inspect, text

from domogate.stores.migrate import create_tables, upgrade
from domogate.stores.opening import open_database


def describe_tables(url: str, make: Callable[[Connection], None]) -> dict[str, dict[str, object]]:
    """All that the database knows about the tables that `make` creates, without the order of columns."""
    database = open_database(url)
    try:
        with database.writing.begin() as connection:
            make(connection)
            found = inspect(connection)
            described: dict[str, dict[str, object]] = {
                table: {
                    "columns": {column["name"]: {**column, "type": str(column["type"])} for column in found.get_columns(table)},
                    "primary key": found.get_pk_constraint(table),
                    "foreign keys": sorted(found.get_foreign_keys(table), key=str),
                    "unique": sorted(found.get_unique_constraints(table), key=str),
                    "checks": sorted(found.get_check_constraints(table), key=str),
                    "indexes": {
                        index["name"]: {
                            **index,
                            "dialect_options": {key: str(value) for key, value in index["dialect_options"].items()},
                        }
                        for index in found.get_indexes(table)
                    },
                }
                for table in found.get_table_names()
            }
            if connection.dialect.name == "sqlite":
                for name, without_rowid in connection.execute(text("SELECT name, wr FROM pragma_table_list")):
                    described.setdefault(name, {})["without rowid"] = without_rowid
            connection.rollback()
            return described
    finally:
        database.close()


def test_the_tables_of_a_new_database_are_those_of_all_migrations(empty_database_url: str) -> None:
    by_revisions = describe_tables(empty_database_url, upgrade)
    assert describe_tables(empty_database_url, create_tables) == by_revisions
    assert len(by_revisions) > 40
