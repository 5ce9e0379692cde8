"""A backup as a download."""

import asyncio
import os
import shutil
import sqlite3
from collections.abc import MutableMapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from domogate.stores import SqlStore
from support.management_setup import ManagementApi
from support.small_disk import limit_files
from support.stores import ANNA

pytestmark = pytest.mark.slow


def leftovers(api: ManagementApi) -> list[str]:
    return [file.name for file in api.folder.iterdir() if "backup" in file.name]


class TestBackup:
    async def test_it_is_a_whole_database_and_leaves_no_file(self, api: ManagementApi, tmp_path: Path) -> None:
        answer = await api.send("POST", "/backups")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/vnd.sqlite3")
        assert answer.headers["cache-control"] == "no-store"
        assert int(answer.headers["content-length"]) == len(answer.content)
        assert answer.headers["content-disposition"].endswith('.sqlite3"')
        copy = tmp_path / "downloaded.sqlite3"
        copy.write_bytes(answer.content)
        with closing(sqlite3.connect(copy)) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert (ANNA.email,) in database.execute("SELECT email FROM users").fetchall()
        assert leftovers(api) == []
        assert (await api.env.noted())[-1] == "backup"

    async def test_only_one_is_made_at_a_time(self, api: ManagementApi, monkeypatch: pytest.MonkeyPatch) -> None:
        started, go_on = asyncio.Event(), asyncio.Event()
        backup = SqlStore.backup

        async def wait(store: SqlStore, *arguments: Any, **options: Any) -> Any:
            started.set()
            await go_on.wait()
            return await backup(store, *arguments, **options)

        monkeypatch.setattr(SqlStore, "backup", wait)
        first = asyncio.create_task(api.send("POST", "/backups"))
        await started.wait()
        assert "running" in await api.refused("POST", "/backups", status=409)
        go_on.set()
        assert (await first).status_code == 200
        assert (await api.send("POST", "/backups")).status_code == 200

    async def test_an_interrupted_download_does_not_block_the_next(self, api: ManagementApi) -> None:
        async def send(_: MutableMapping[str, Any]) -> None:
            raise OSError("the client is gone")

        async def receive() -> dict[str, Any]:
            return {"type": "http.disconnect"}

        headers = [(b"authorization", f"Bearer {api.token}".encode())]
        path = "/manage/v1/backups"
        scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "headers": headers,
                 "query_string": b"", "client": ("192.0.2.9", 1)}  # fmt: skip
        with suppress(Exception):  # The kind of the exception depends on Starlette.
            await api.app(scope, receive, send)
        assert leftovers(api) == []
        assert (await api.send("POST", "/backups")).status_code == 200

    async def test_a_database_that_cannot_be_backed_up_is_said(
        self, api: ManagementApi, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def refuse(*_arguments: Any, **_options: Any) -> None:
            raise ValueError("Domogate does not back up PostgreSQL databases: use pg_dump")

        monkeypatch.setattr(SqlStore, "backup", refuse)
        assert "pg_dump" in await api.refused("POST", "/backups", status=409)
        assert leftovers(api) == []

    async def test_the_disk_of_the_database_is_not_filled(self, api: ManagementApi, monkeypatch: pytest.MonkeyPatch) -> None:
        """The copy is in the data folder. If it took all space, the gateway could not store commands."""
        usage = shutil.disk_usage(api.folder)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=8_000_000))
        said = await api.refused("POST", "/backups", status=409)
        assert f"MB in {api.folder}, and 8 MB are free. Delete files, or make the backup on another disk" in said
        assert leftovers(api) == []

    async def test_a_disk_that_becomes_full_during_the_copy_is_said(self, api: ManagementApi) -> None:
        limit_files(os.getpid(), (api.folder / "domogate.sqlite3").stat().st_size // 2)
        try:
            said = await api.refused("POST", "/backups", status=409)
        finally:
            limit_files(os.getpid(), None)
        assert "cannot be copied" in said
        assert leftovers(api) == []
