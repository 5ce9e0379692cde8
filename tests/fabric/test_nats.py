"""Two gateways on a real NATS server: A asks, B drives the plant."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from nats.aio.client import Client

from domogate.domain.faults import (
    CommandNotSupported,
    DeviceOffline,
    DeviceRefused,
    DeviceTimeout,
    Fault,
    Internal,
    OrderKeyTaken,
)
from domogate.fabric import connection
from domogate.fabric.connection import NatsAccess
from domogate.fabric.messages import Refused, decode_answer
from domogate.ports import NotHeld
from support.fabric_setup import LARGE, PLANT, PLUG, REPORT, SHARD, Side, Traced, connected, order_within
from support.nats_server import NatsServer, nats_server
from support.tls import make_self_signed

SEED = "SUAAAAICAMCAKBQHBAEQUCYMBUHA6EARCIJRIFIWC4MBSGQ3DQOR4H776Y"
PUBLIC_KEY = "UAB2CB576PHBBPQ5ODORRZ2LYCMWPZGWGCN2KDK7DXOIMZASKUY3RLKK"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    # The payload limit is the default of the server, so the picture needs no parts only if they are cut smaller.
    config = tmp_path_factory.mktemp("nats") / "nats.conf"
    config.write_text("max_payload: 65536\n")
    with nats_server(config.parent, "-c", str(config)) as running:
        yield running


@pytest.fixture
async def a(server: NatsServer) -> AsyncIterator[Side]:
    async with connected(NatsAccess(servers=(server.url,))) as side:
        yield side


@pytest.fixture
async def b(server: NatsServer) -> AsyncIterator[Side]:
    async with connected(NatsAccess(servers=(server.url,))) as side:
        side.fabric.hold((SHARD,))
        await side.settle()
        yield side


class TestQuestions:
    async def test_an_order_reaches_the_gateway_that_drives_the_plant(self, a: Side, b: Side) -> None:
        order = order_within(60)
        assert await a.fabric.execute(order) == REPORT
        assert a.host.orders == []
        arrived = b.host.orders[0]
        assert msgspec.structs.replace(arrived, deadline=order.deadline) == order
        assert arrived.deadline == pytest.approx(order.deadline, abs=2)

    async def test_a_question_is_answered(self, a: Side, b: Side) -> None:
        assert await a.fabric.read(PLANT, PLUG, time.time() + 60) == REPORT

    async def test_an_own_plant_is_asked_without_nats(self, b: Side) -> None:
        assert await b.fabric.execute(order_within(60)) == REPORT
        assert b.fabric.asked == 0

    async def test_a_picture_larger_than_a_message_arrives_whole(self, a: Side, b: Side) -> None:
        assert len(LARGE.content) > 10 * a.connection.max_payload
        assert await a.fabric.take_picture(PLANT, PLUG, time.time() + 60) == LARGE

    async def test_every_question_carries_its_trace(self, server: NatsServer) -> None:
        access, asking, driving = NatsAccess(servers=(server.url,)), Traced(), Traced()
        async with connected(access, trace=asking) as a, connected(access, trace=driving) as b:
            b.fabric.hold((SHARD,))
            await b.settle()
            assert await a.fabric.execute(order_within(60)) == REPORT
            assert await a.fabric.read(PLANT, PLUG, time.time() + 60) == REPORT
            assert await a.fabric.take_picture(PLANT, PLUG, time.time() + 60) == LARGE
        assert asking.asked == a.fabric.asked >= 3  # On a busy machine, a question is sent again.
        assert len(driving.arrived) >= 3
        assert set(driving.arrived) == {f"trace of test.shard.{SHARD}"}

    @pytest.mark.parametrize(
        "fault",
        [
            DeviceOffline("gone"),
            DeviceTimeout("slow"),
            DeviceRefused("no"),
            CommandNotSupported("never"),
            OrderKeyTaken("taken"),
            Internal("broken"),
            Internal("no database", is_temporary=True),
        ],
    )
    async def test_a_fault_keeps_its_type_and_message(self, a: Side, b: Side, fault: Fault) -> None:
        b.host.trouble = fault
        for asking in (a.fabric.execute(order_within(60)), a.fabric.take_picture(PLANT, PLUG, time.time() + 60)):
            with pytest.raises(type(fault)) as raised:
                await asking
            assert type(raised.value) is type(fault)
            assert vars(raised.value) == vars(fault)

    async def test_an_unexpected_error_is_not_shown_to_another_gateway(self, a: Side, b: Side) -> None:
        b.host.trouble = RuntimeError("password 1234")
        with pytest.raises(Internal, match="the gateway that drives the device failed"):
            await a.fabric.execute(order_within(60))

    async def test_an_order_that_is_not_answered_ends_at_its_deadline(self, a: Side, b: Side) -> None:
        b.host.hangs = True
        with pytest.raises(DeviceTimeout):
            await a.fabric.execute(order_within(0.3))

    async def test_an_order_after_its_deadline_is_not_sent(self, a: Side, b: Side) -> None:
        with pytest.raises(DeviceTimeout, match="was not asked"):
            await a.fabric.execute(order_within(-1))
        assert a.fabric.asked == 0

    async def test_a_message_that_is_not_a_question_is_refused(self, a: Side, b: Side) -> None:
        answer = decode_answer(await a.connection.request(f"test.shard.{SHARD}", b"nonsense", 60))
        assert isinstance(answer, Refused)
        assert isinstance(answer.fault(), Internal)
        assert b.host.orders == []


class TestHolders:
    async def test_without_a_holder_the_device_is_offline_at_once(self, a: Side) -> None:
        with pytest.raises(DeviceOffline, match="no gateway drives this plant"):
            await a.fabric.execute(order_within(60))

    async def test_another_cluster_on_the_same_server_is_not_asked(self, server: NatsServer, b: Side) -> None:
        async with connected(NatsAccess(servers=(server.url,)), cluster="other") as stranger:
            with pytest.raises(DeviceOffline):
                await stranger.fabric.execute(order_within(60))

    async def test_an_order_waits_for_the_next_holder(self, a: Side, b: Side) -> None:
        a.is_moving = True
        b.fabric.let_go((SHARD,))
        await b.settle()
        waiting = asyncio.create_task(a.fabric.execute(order_within(30)))
        while a.fabric.asked < 3:
            await asyncio.sleep(0.01)
        b.fabric.hold((SHARD,))
        assert await waiting == REPORT
        assert len({order.id for order in b.host.orders}) == 1

    async def test_an_order_is_executed_here_if_this_gateway_becomes_the_holder(self, a: Side) -> None:
        a.is_moving = True
        waiting = asyncio.create_task(a.fabric.execute(order_within(30)))
        while a.fabric.asked < 3:
            await asyncio.sleep(0.01)
        a.fabric.hold((SHARD,))
        assert await waiting == REPORT

    async def test_a_gateway_that_has_just_let_go_sends_the_order_on(self, a: Side, b: Side) -> None:
        a.is_moving, b.host.trouble = True, NotHeld()
        waiting = asyncio.create_task(a.fabric.execute(order_within(30)))
        while len(b.host.orders) < 2:
            await asyncio.sleep(0.01)
        b.host.trouble = None
        assert await waiting == REPORT

    @pytest.mark.slow
    async def test_a_question_is_sent_again_if_its_message_was_lost(self, a: Side, b: Side) -> None:
        b.host.hangs = True
        waiting = asyncio.create_task(a.fabric.execute(order_within(60)))
        while not b.host.orders:
            await asyncio.sleep(0.01)
        b.host.hangs = False  # The first question stays without an answer.
        assert await waiting == REPORT
        assert len(b.host.orders) >= 2
        assert len({order.id for order in b.host.orders}) == 1

    async def test_gateways_wake_each_other(self, a: Side, b: Side) -> None:
        feed, shards = asyncio.Event(), asyncio.Event()
        await a.fabric.on_feed(feed.set)
        await a.fabric.on_shards(shards.set)
        await a.connection.flush()
        b.fabric.publish_feed()
        b.fabric.publish_shards()
        await asyncio.wait_for(asyncio.gather(feed.wait(), shards.wait()), 60)


def hanging_close() -> tuple[Callable[..., Awaitable[None]], asyncio.Event, asyncio.Event]:
    """A method of the NATS library that hangs while it closes a connection. The events: it may go on, and it has ended."""
    close, released, closed = Client._close, asyncio.Event(), asyncio.Event()

    async def hang(client: Client, status: int, do_cbs: bool = True) -> None:
        client._status = Client.CLOSED
        await released.wait()
        client._status = Client.CONNECTED
        await close(client, status, do_cbs)
        closed.set()

    return hang, released, closed


class TestConnection:
    """Access to the server, and its loss."""

    async def test_the_connection_comes_back_with_its_subscriptions(self, tmp_path: Path) -> None:
        with nats_server(tmp_path) as server:
            access = NatsAccess(servers=(server.url,))
            async with connected(access) as a, connected(access) as b:
                b.fabric.hold((SHARD,))
                await b.settle()
                links: list[bool] = []
                a.fabric.on_link(lambda: links.append(a.fabric.is_connected))
                server.stop()
                while a.connection.is_connected:
                    await asyncio.sleep(0.01)
                with pytest.raises(Fault) as lost:
                    await a.fabric.execute(order_within(0.2))
                assert isinstance(lost.value, DeviceOffline | DeviceTimeout)
                assert b.host.orders == []
                server.start()
                for side in (a, b):
                    assert await side.connection.wait_connected(60)
                later = order_within(60)
                assert await a.fabric.execute(later) == REPORT
                assert {order.id for order in b.host.orders} == {later.id}, "the order during the loss was sent later"
                assert (links[0], links[-1]) == (False, True)

    @pytest.mark.slow
    async def test_a_connection_that_hangs_while_it_is_closed_is_replaced(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hang, released, closed = hanging_close()
        with nats_server(tmp_path) as server:
            async with connected(NatsAccess(servers=(server.url,))) as a, asyncio.timeout(60):
                with monkeypatch.context() as patch:
                    patch.setattr(Client, "_close", hang)
                    server.stop()
                    while a.connection.is_connected:
                        await asyncio.sleep(0.01)
                server.start()
                while not a.fabric.is_connected:
                    await asyncio.sleep(0.01)
                released.set()
                await closed.wait()
                assert a.fabric.is_connected, "the end of the first connection does not end the second"

    @pytest.mark.slow
    async def test_a_connection_that_was_just_lost_is_not_taken_for_open(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hang, released, closed = hanging_close()
        with nats_server(tmp_path) as server:
            async with connected(NatsAccess(servers=(server.url,))) as a, asyncio.timeout(60):
                with monkeypatch.context() as patch:
                    patch.setattr(Client, "_close", hang)  # So the library does not report the loss.
                    server.stop()
                    while a.connection.is_connected:
                        await asyncio.sleep(0.001)
                    assert not await a.connection.wait_connected(0.05)
                server.start()
                assert await a.connection.wait_connected(60)
                assert a.fabric.is_connected
                released.set()
                await closed.wait()

    async def test_after_a_restart_of_nats_an_order_waits_for_a_holder_that_connects_later(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(connection, "_RETURN_SECONDS", 600.0)
        with nats_server(tmp_path) as server:
            async with connected(NatsAccess(servers=(server.url,))) as a, connected(NatsAccess(servers=(server.url,))) as b:
                with pytest.raises(DeviceOffline):
                    await a.fabric.execute(order_within(60))
                server.stop()
                while a.connection.is_connected:
                    await asyncio.sleep(0.01)
                server.start()
                assert await a.connection.wait_connected(60)
                waiting = asyncio.create_task(a.fabric.execute(order_within(60)))
                while a.fabric.asked < 3:
                    assert not waiting.done(), "the order did not wait"
                    await asyncio.sleep(0.01)
                b.fabric.hold((SHARD,))
                assert await waiting == REPORT

    async def test_a_gateway_starts_without_a_server_and_finds_it_later(self, tmp_path: Path) -> None:
        with nats_server(tmp_path) as server:
            server.stop()
            async with connected(NatsAccess(servers=(server.url,))) as a:
                assert a.connection.problem
                a.fabric.hold((SHARD,))
                assert await a.fabric.execute(order_within(60)) == REPORT, "own plants do not need NATS"
                server.start()
                assert await a.connection.wait_connected(60)

    async def test_another_server_is_used_if_one_is_lost(self, tmp_path: Path, server: NatsServer) -> None:
        gone = NatsServer(tmp_path)
        async with connected(NatsAccess(servers=(gone.url, server.url))) as a:
            assert await a.connection.wait_connected(60)
            assert a.connection.server == f"127.0.0.1:{server.port}"

    @pytest.mark.parametrize("way", ["user", "token", "nkey", "url"])
    async def test_ways_to_prove_the_identity(self, tmp_path: Path, way: str) -> None:
        options = {
            "user": "authorization { users: [{user: gate, password: secret}] }",
            "url": "authorization { users: [{user: gate, password: secret}] }",
            "token": "authorization { token: secret }",
            "nkey": f"authorization {{ users: [{{nkey: {PUBLIC_KEY}}}] }}",
        }
        (tmp_path / "nats.conf").write_text(options[way])
        with nats_server(tmp_path, "-c", str(tmp_path / "nats.conf")) as server:
            url = server.url
            right = {
                "user": NatsAccess(servers=(url,), user="gate", password="secret"),
                "url": NatsAccess(servers=(url.replace("://", "://gate:secret@"),)),
                "token": NatsAccess(servers=(url,), token="secret"),
                "nkey": NatsAccess(servers=(url,), nkey=SEED),
            }
            async with connected(right[way]) as a:
                assert await a.connection.wait_connected(60)
                assert "secret" not in a.connection.server
            async with connected(NatsAccess(servers=(url,))) as stranger:
                assert not stranger.connection.is_connected
                assert "Authorization" in stranger.connection.problem

    @pytest.mark.slow
    async def test_the_certificate_of_the_server_is_checked(self, tmp_path: Path) -> None:
        tls = make_self_signed(tmp_path)
        with nats_server(
            tmp_path, "--tls", "--tlscert", str(tls.certificate), "--tlskey", str(tls.key), scheme="tls"
        ) as server:
            async with connected(NatsAccess(servers=(server.url,), tls_ca=tls.certificate)) as a:
                assert await a.connection.wait_connected(60)
            async with connected(NatsAccess(servers=(server.url,))) as stranger:
                assert not stranger.connection.is_connected
                assert "certificate" in stranger.connection.problem


class TestFrozen:
    @pytest.mark.slow
    async def test_an_order_that_waited_in_a_frozen_process_is_not_executed(self, a: Side, b: Side) -> None:
        asking = asyncio.create_task(a.fabric.execute(order_within(2.0)))
        await asyncio.sleep(0)
        while a.fabric.asked == 0:
            await asyncio.sleep(0)
        time.sleep(3.0)  # Both gateways are in this process: neither runs, as if it was frozen.
        with pytest.raises(DeviceTimeout):
            await asking
        await asyncio.sleep(0.2)
        assert b.host.orders == []
