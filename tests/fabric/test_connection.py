"""The connection of one gateway to a real NATS server that answers late: its subscriptions stay right."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from nats.aio.client import Client
from nats.errors import NoRespondersError

from domogate.common.tasks import cancel
from domogate.fabric import connection
from domogate.fabric.client import CorrectedClient
from domogate.fabric.connection import NatsAccess
from support.fabric_setup import REPORT, SHARD, Side, connected, order_within
from support.nats_server import NatsServer, nats_server

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    with nats_server(tmp_path) as running:
        yield running


@pytest.fixture
async def a(server: NatsServer) -> AsyncIterator[Side]:
    async with connected(NatsAccess(servers=(server.url,))) as side:
        await side.settle()
        yield side


@pytest.fixture
async def b(server: NatsServer) -> AsyncIterator[Side]:
    async with connected(NatsAccess(servers=(server.url,))) as side:
        await side.settle()
        yield side


class SlowFlush:
    """The library, whose `flush` waits until `released` is set. So the server confirms new subscriptions late."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.released = asyncio.Event(), asyncio.Event()
        flush = Client.flush

        async def wait(client: Client, *seconds: int) -> None:
            self.begun.set()
            await self.released.wait()
            await flush(client, *seconds)

        monkeypatch.setattr(Client, "flush", wait)


async def let_tasks_run() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


class TestSubscriptionsThatChangeWhileTheGatewayConnects:
    @pytest.fixture
    async def slow(self, b: Side, server: NatsServer, monkeypatch: pytest.MonkeyPatch) -> SlowFlush:
        """B connects again, and has just subscribed."""
        b.fabric.hold((SHARD + 1,))
        await b.settle()
        server.stop()
        while b.connection.is_connected:
            await asyncio.sleep(0.01)
        slow = SlowFlush(monkeypatch)
        server.start()
        await slow.begun.wait()
        return slow

    async def test_a_new_shard_is_subscribed(self, b: Side, slow: SlowFlush, server: NatsServer) -> None:
        b.fabric.hold((SHARD,))
        await let_tasks_run()
        slow.released.set()
        assert await b.connection.wait_connected(60)
        async with connected(NatsAccess(servers=(server.url,))) as a:
            assert await a.fabric.execute(order_within(60)) == REPORT

    async def test_a_shard_that_was_let_go_is_not_subscribed(self, b: Side, slow: SlowFlush, server: NatsServer) -> None:
        b.fabric.let_go((SHARD + 1,))
        await let_tasks_run()
        slow.released.set()
        assert await b.connection.wait_connected(60)
        async with connected(NatsAccess(servers=(server.url,))) as a:
            with pytest.raises(NoRespondersError):
                await a.connection.request(f"test.shard.{SHARD + 1}", b"", 60)


class TestLateAnswers:
    async def test_a_late_answer_to_a_ping_does_not_end_the_connection(self, server: NatsServer) -> None:
        client = CorrectedClient()
        await client.connect(server.url, allow_reconnect=False)
        given_up = asyncio.create_task(client.flush(60))
        await asyncio.sleep(0)  # The library has not sent its ping yet.
        await cancel(given_up)
        await client.flush(60)
        messages = await client.subscribe("greetings")
        await client.publish("greetings", b"hello")
        assert (await messages.next_msg(60)).data == b"hello"
        await client.close()

    @pytest.mark.slow
    async def test_new_shards_do_not_wait_for_a_server_that_does_not_confirm_the_end_of_others(
        self, a: Side, b: Side, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(connection, "_UNSUBSCRIBE_SECONDS", 0.1)
        b.fabric.hold((SHARD + 1,))
        await b.settle()
        with monkeypatch.context() as patch:
            slow = SlowFlush(patch)
            b.fabric.let_go((SHARD + 1,))
            await slow.begun.wait()
        b.fabric.hold((SHARD,))
        a.is_moving = True
        assert await a.fabric.execute(order_within(60)) == REPORT
