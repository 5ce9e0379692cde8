"""A gateway of a cluster, or a `domogate` command, is frozen in the middle of a write."""

import asyncio
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from sqlalchemy import text

from domogate.domain.events import StateChanged, UserChanged
from domogate.domain.states import LightState
from domogate.stores import postgres as postgres_stores
from domogate.stores.opening import open_database
from support.houses import house_of, houses, lamp_of, lamp_on
from support.postgres import PostgresServer
from support.stores import CARLA, OpenStore, record_changes
from support.tcp_proxy import TcpProxy

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("place", ["begin", "commit"])
@pytest.mark.parametrize("member", [True, False], ids=["gateway", "command"])
async def test_it_delays_the_others_only_shortly_and_then_tries_again(
    open_store: OpenStore, postgres_url: str, member: bool, place: str
) -> None:
    """`begin`: it is frozen after the statement that locks, before the other statements of the same round trip."""
    store = await open_store(postgres_url, member=True)
    await store.import_estate(houses(2), prune=False)
    recorded = record_changes(store)
    script = textwrap.dedent(
        """
        import asyncio, sys, time
        from domogate.domain.ids import Id
        from domogate.domain.states import LightState, Report
        from domogate.stores import SqlStore, postgres

        execute, place = postgres.execute_text, sys.argv[5]

        def stop_at(here):
            global place
            if place == here:
                place = ""
                print("writing", flush=True)
                sys.stdin.readline()

        class Clock:
            def now(self): return 1_800_000_000.0

        class Stopping(SqlStore):
            def commit(self, connection, writes=(), **options):
                if writes:
                    stop_at("commit")
                super().commit(connection, writes, **options)

        def execute_and_stop(connection, text):
            execute(connection, text)
            if "pg_advisory_xact_lock" in text:
                stop_at("begin")

        postgres.execute_text = execute_and_stop

        async def main():
            member = sys.argv[4] == "True"
            store = Stopping(sys.argv[1], clock=Clock(), member=member, gateway=member)
            await store.start()
            await store.record([Report(Id(sys.argv[2]), Id(sys.argv[3]), 1.0, LightState(on=True, level=1))])
            await store.stop()

        asyncio.run(main())
        """
    )
    plant, lamp = house_of(0), lamp_of(0)
    process = subprocess.Popen(
        [sys.executable, "-c", script, postgres_url, plant, lamp, str(member), place],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert await asyncio.to_thread(process.stdout.readline) == "writing\n"
        process.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        await store.record([lamp_on(2, 1)])
        await store.save_user(CARLA)
        assert time.monotonic() - began < 60, "the server ends the transaction of the frozen process"
        assert [type(event) for event in recorded.events] == [StateChanged, UserChanged]
        process.send_signal(signal.SIGCONT)
        await asyncio.to_thread(process.communicate, "\n", 60)
    finally:
        process.kill()
    assert process.returncode == 0
    async with asyncio.timeout(60):
        while len(recorded.events) < 3:
            await asyncio.sleep(0.005)
    late = recorded.events[-1]
    assert isinstance(late, StateChanged)
    assert (late.module_id, late.state) == (lamp, LightState(on=True, level=1))


async def test_a_connection_that_is_lost_in_the_middle_of_a_commit_delays_the_others_only_shortly(
    open_store: OpenStore, postgres: PostgresServer, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server waits for the rest of the round trip, so the transaction is not idle, and its rows are locked."""
    limit = str(postgres_stores._LIMIT_MEMBER)
    assert "'30s'" in limit
    monkeypatch.setattr(postgres_stores, "_LIMIT_MEMBER", text(limit.replace("30s", "3s")))
    proxy = TcpProxy(postgres.socket)
    await proxy.start()
    lost = await open_store(f"postgresql+psycopg://postgres@127.0.0.1:{proxy.port}/postgres", member=True)
    await lost.import_estate(houses(1), prune=False)
    await lost.record([lamp_on(1, 0)])
    other = await open_store(postgres_url, member=True)
    proxy.cut_at = b"COMMIT"
    losing = asyncio.create_task(lost.record([lamp_on(2, 0)]))
    await asyncio.sleep(0.5)
    async with asyncio.timeout(15):
        await other.record([lamp_on(3, 0)])
    proxy.cut_at = b""
    proxy.drop()
    await asyncio.gather(losing, return_exceptions=True)
    await lost.stop()
    await proxy.stop()


def test_a_migration_may_be_idle_for_a_minute(postgres_url: str) -> None:
    database = open_database(postgres_url)
    with database.writing.begin() as connection:
        database.lock(connection)
        assert connection.execute(text("SHOW idle_in_transaction_session_timeout")).scalar() == "1min"
    database.close()
