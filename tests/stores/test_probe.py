"""The thread that asks a database server regularly whether it answers."""

from pathlib import Path

import pytest

from domogate.app.parts import SystemClock
from domogate.stores import SqlStore
from domogate.stores.opening import open_database
from domogate.stores.probe import Probe
from support.postgres import postgres_server


@pytest.mark.slow
async def test_its_connection_is_closed_even_if_the_pool_was_closed_before(tmp_path: Path) -> None:
    with postgres_server() as server:
        url = server.empty_database()
        store = SqlStore(url, clock=SystemClock(), gateway=False, folder=tmp_path)
        await store.start()
        await store.stop()
        database = open_database(url)
        probe = Probe(database)
        assert probe.ask()
        assert probe.connection is not None
        connection = probe.connection.connection.driver_connection
        assert connection is not None
        database.close()  # On a slow machine, the store closes the pool while the thread still works.
        probe.close()
        assert connection.closed
