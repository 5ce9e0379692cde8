"""The list of databases that a folder was used with."""

import stat
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

from domogate.stores import DatabaseUnusable, sqlite_url
from domogate.stores.inspection import LIST_NAME, UsedDatabases
from support.postgres import PostgresServer
from support.stores import OpenStore


class TestTheList:
    def test_a_name_is_written_once(self, tmp_path: Path) -> None:
        used = UsedDatabases(tmp_path)
        assert not used.has("domogate.sqlite3")
        for _ in range(3):
            used.add("domogate.sqlite3")
        used.add("postgresql://localhost:5432/domogate")
        names = [line for line in (tmp_path / LIST_NAME).read_text().splitlines() if not line.startswith("#")]
        assert names == ["domogate.sqlite3", "postgresql://localhost:5432/domogate"]
        assert used.has("domogate.sqlite3")
        assert stat.S_IMODE((tmp_path / LIST_NAME).stat().st_mode) == 0o600

    def test_without_a_folder_nothing_is_listed(self) -> None:
        used = UsedDatabases(None)
        used.add("domogate.sqlite3")
        assert not used.has("domogate.sqlite3")


class TestAStore:
    async def test_a_lost_file_is_not_made_again(self, open_store: OpenStore, tmp_path: Path) -> None:
        file = tmp_path / "domogate.db"
        store = await open_store(sqlite_url(file), folder=tmp_path)
        await store.stop()
        for each in tmp_path.glob("domogate.db*"):
            each.unlink()
        with pytest.raises(DatabaseUnusable, match="was in use"):
            await open_store(sqlite_url(file), folder=tmp_path)
        assert not file.exists()

    @pytest.mark.slow
    async def test_an_emptied_server_is_not_filled_again_and_the_list_has_no_password(
        self, open_store: OpenStore, postgres: PostgresServer, tmp_path: Path
    ) -> None:
        url = postgres.empty_database()
        secret = make_url(url).set(password="very secret").render_as_string(hide_password=False)
        store = await open_store(secret, folder=tmp_path)
        await store.stop()
        assert "very secret" not in (tmp_path / LIST_NAME).read_text()
        postgres.empty_database()
        with pytest.raises(DatabaseUnusable, match=r"has no tables.*was in use.*\n.*pg_restore"):
            await open_store(secret, folder=tmp_path)
        engine = create_engine(url)
        with engine.connect() as connection:
            tables = connection.execute(text("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")).scalar()
        engine.dispose()
        assert tables == 0
        (tmp_path / "new").mkdir()
        elsewhere = await open_store(url, folder=tmp_path / "new")
        assert await elsewhere.list_users() == []
