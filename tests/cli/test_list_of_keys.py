"""`domogate key list` reads a prepared file without SQLAlchemy. It must say the same as the store (Decision 0098)."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from domogate.stores import sqlite_url
from domogate.stores.migrate import upgrade
from domogate.stores.opening import open_database
from domogate.stores.revisions import HEAD
from support.command_line import CommandLine


def database_of(domogate: CommandLine) -> Path:
    return domogate.data / "domogate.sqlite3"


def revision_of(domogate: CommandLine) -> str:
    with closing(sqlite3.connect(database_of(domogate))) as connection:
        (revision,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return str(revision)


@pytest.fixture
def with_keys(empty_store: CommandLine) -> CommandLine:
    empty_store.good("key", "issue", "first", "--rate", "10/second", "--daily-quota", "9007199254740992")
    empty_store.good("key", "issue", "zweiter Schlüssel 🔑", "--expires-in", "1s")
    empty_store.good("key", "issue", "revoked", "--expires-in", "90d")
    empty_store.good("key", "revoke", "revoked")
    return empty_store


def test_both_ways_list_the_same(with_keys: CommandLine) -> None:
    quick, quick_json = with_keys.good("key", "list"), with_keys.read("key", "list")
    (with_keys.data / "in-use").unlink()  # Then the store prepares the file.
    assert with_keys.good("key", "list") == quick
    assert [key["name"] for key in quick_json] == ["first", "zweiter Schlüssel 🔑", "revoked"]
    (with_keys.data / "in-use").unlink()
    assert with_keys.read("key", "list") == quick_json


def test_the_folder_of_an_earlier_version_is_listed_as_used(with_keys: CommandLine) -> None:
    (with_keys.data / "in-use").unlink()
    with_keys.good("key", "list")
    database_of(with_keys).unlink()
    assert "was in use" in with_keys.refused("key", "list")


def test_a_database_of_an_earlier_version_is_migrated(domogate: CommandLine) -> None:
    domogate.data.mkdir()
    database = open_database(sqlite_url(database_of(domogate)))
    try:
        with database.writing.begin() as connection:
            upgrade(connection, "0030")
    finally:
        database.close()
    (domogate.data / "in-use").write_text("domogate.sqlite3\n")
    assert domogate.read("key", "list") == []
    assert revision_of(domogate) == HEAD


def test_a_database_of_a_newer_version_is_refused(with_keys: CommandLine) -> None:
    with closing(sqlite3.connect(database_of(with_keys))) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()
    said = with_keys.refused("key", "list")
    assert "9999" in said
    assert said == with_keys.refused("client", "list")


def test_without_the_secret_key_it_is_refused_as_every_command(with_keys: CommandLine) -> None:
    (with_keys.data / "secret-key").unlink()
    said = with_keys.refused("key", "list")
    assert "secret key" in said
    assert said == with_keys.refused("client", "list")


def test_a_damaged_table_is_refused_as_by_every_command(with_keys: CommandLine) -> None:
    with closing(sqlite3.connect(database_of(with_keys))) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'subscriptions'").fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    with database_of(with_keys).open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    said = with_keys.refused("key", "list")
    assert "damaged" in said
    assert said == with_keys.refused("client", "list")


def test_a_change_that_is_only_in_the_log_is_listed(with_keys: CommandLine) -> None:
    with closing(sqlite3.connect(database_of(with_keys))) as connection:
        connection.execute("UPDATE subscriptions SET name = 'renamed' WHERE name = 'first'")
        connection.commit()
        assert Path(f"{database_of(with_keys)}-wal").stat().st_size
        assert "renamed" in with_keys.good("key", "list")
