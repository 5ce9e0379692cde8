"""Questions of A while the plant moves to B, on a real NATS server. No timer helps: A asks again only when it is told."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from nats.aio.transport import TcpTransport

from domogate.domain.faults import DeviceOffline
from domogate.fabric import connection, nats
from domogate.fabric.connection import NatsAccess
from domogate.ports import NotHeld
from support.fabric_setup import REPORT, SHARD, Side, connected, order_within
from support.nats_server import NatsServer, nats_server

NEVER = 3_600.0
"""In seconds. This is longer than the deadlines of the orders and of the test."""

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    folder: Path = tmp_path_factory.mktemp("nats")
    with nats_server(folder) as running:
        yield running


@pytest.fixture(autouse=True)
def no_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_FIRST_RETRY", "_LONGEST_RETRY", "_ASK_AGAIN"):
        monkeypatch.setattr(nats, name, NEVER)
    monkeypatch.setattr(connection, "_PING_SECONDS", NEVER)


@pytest.fixture
async def a(server: NatsServer) -> AsyncIterator[Side]:
    async with connected(NatsAccess(servers=(server.url,))) as side:
        side.is_moving = True
        await side.settle()
        yield side


@pytest.fixture
async def b(server: NatsServer) -> AsyncIterator[Side]:
    async with connected(NatsAccess(servers=(server.url,))) as side:
        yield side


async def ask(side: Side) -> "asyncio.Task[object]":
    """Send an order, and wait until nobody has taken it."""
    asked: int = side.looked
    waiting = asyncio.create_task(side.fabric.execute(order_within(NEVER)))
    while side.looked == asked:
        await asyncio.sleep(0.01)
    return waiting


async def test_an_order_is_sent_again_when_another_gateway_becomes_the_holder(a: Side, b: Side) -> None:
    waiting = await ask(a)
    b.fabric.hold((SHARD,))
    assert await waiting == REPORT
    assert len(b.host.orders) == 1


async def test_an_order_is_executed_when_this_gateway_becomes_the_holder(a: Side) -> None:
    waiting = await ask(a)
    a.fabric.hold((SHARD,))
    assert await waiting == REPORT


async def test_an_order_that_the_former_holder_refused_is_sent_to_the_next(a: Side, b: Side, server: NatsServer) -> None:
    async with connected(NatsAccess(servers=(server.url,))) as former:
        former.host.trouble = NotHeld()
        former.fabric.hold((SHARD,))
        await former.settle()
        waiting = await ask(a)
        former.fabric.let_go((SHARD,))
        await former.settle()
        b.fabric.hold((SHARD,))
        assert await waiting == REPORT


async def test_a_shard_is_let_go_when_the_server_sends_no_questions_to_it(a: Side, b: Side) -> None:
    a.is_moving = False
    b.fabric.hold((SHARD,))
    await b.settle()
    b.fabric.let_go((SHARD,))
    await b.fabric.wait_let_go()
    with pytest.raises(DeviceOffline):
        await a.fabric.execute(order_within(NEVER))
    assert b.fabric.answered == 0


@pytest.mark.slow
async def test_letting_go_ends_although_the_server_does_not_answer(b: Side, server: NatsServer) -> None:
    b.fabric.hold((SHARD,))
    await b.settle()
    server.freeze()
    try:
        b.fabric.let_go((SHARD,))
        await b.fabric.wait_let_go()
        assert b.connection.is_connected, "the end of the connection did not end the wait"
    finally:
        server.thaw()


async def test_the_server_ends_a_subscription_before_the_gateway_forgets_it(b: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gateway forgets the subscription after the answer to its ping. Questions that arrive later would be lost."""
    b.fabric.hold((SHARD,))
    await b.settle()
    sent: list[bytes] = []
    write: Callable[..., None] = TcpTransport.write
    write_lines: Callable[..., None] = TcpTransport.writelines

    def note(transport: TcpTransport, content: bytes) -> None:
        sent.append(content)
        write(transport, content)

    def note_lines(transport: TcpTransport, lines: list[bytes]) -> None:
        sent.extend(lines)
        write_lines(transport, lines)

    monkeypatch.setattr(TcpTransport, "write", note)
    monkeypatch.setattr(TcpTransport, "writelines", note_lines)
    b.fabric.let_go((SHARD,))
    while len(sent) < 2:
        await asyncio.sleep(0.01)
    assert [content.split()[0] for content in sent] == [b"UNSUB", b"PING"]


async def test_a_question_that_has_arrived_is_answered_before_the_gateway_ends(a: Side, server: NatsServer) -> None:
    async with connected(NatsAccess(servers=(server.url,))) as leaving:
        leaving.fabric.hold((SHARD,))
        await leaving.settle()
        leaving.spreading.clear()
        waiting = asyncio.create_task(a.fabric.execute(order_within(NEVER)))
        while not leaving.spread:
            await asyncio.sleep(0.01)
        leaving.fabric.let_go((SHARD,))
        finishing = asyncio.create_task(leaving.fabric.finish())
        await asyncio.sleep(0)
        leaving.spreading.set()
        await finishing
    assert await waiting == REPORT
