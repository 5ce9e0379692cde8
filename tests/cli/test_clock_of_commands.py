"""Commands on PostgreSQL use the clock of the database, as the gateways do."""

import time
from pathlib import Path

import psycopg
import pytest

from domogate.app import open_tools, parts
from domogate.settings import Settings
from support.postgres import postgres_server

HOUR = 3600.0


@pytest.mark.slow
async def test_a_command_on_a_machine_with_a_wrong_clock_uses_the_time_of_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts.SystemClock, "now", staticmethod(lambda: time.time() + HOUR))
    with postgres_server() as server:
        url = server.empty_database()
        async with open_tools(Settings(data=tmp_path, database=url)) as tools:
            assert abs(tools.clock.now() - time.time()) < HOUR / 2
            with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
                connection.execute(
                    "INSERT INTO gateways (id, applied, seen_at) VALUES ('one', -1, extract(epoch FROM clock_timestamp()))"
                )
                assert not await tools.store.wait_applied(0), "a gateway runs, and has not read the feed"
                connection.execute("UPDATE gateways SET seen_at = seen_at - 60")
                assert await tools.store.wait_applied(0), "the gateway does not run any more"
        async with open_tools(Settings(data=tmp_path)) as tools:
            assert tools.clock.now() - time.time() > HOUR / 2, "a gateway on SQLite uses the clock of the machine"
