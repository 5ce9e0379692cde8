"""Two gateways of a cluster on one PostgreSQL database: the holder of a plant delivers its webhooks, and reads no others."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from domogate.domain.shards import shard_of
from domogate.stores import SqlStore
from domogate.stores.leases import PostgresLeases, open_leases
from support.clocks import ManualClock
from support.delivery_setup import ESTATE, HOME, LAMPS, PATIENCE, DeliverySetup, RecordingSender
from support.holders import Holder, take_over
from support.stores import OpenStore

pytestmark = pytest.mark.slow

SHARD = shard_of(HOME)


class DeliveringGateway(Holder):
    """A gateway that delivers webhooks, and stops when it learns that it has lost a shard."""

    def __init__(self, store: SqlStore, clock: ManualClock) -> None:
        super().__init__(store)
        self.sender = RecordingSender()
        self.is_current = True
        self.setup = DeliverySetup(store, clock, self.sender, holdings=self.held, is_current=lambda: self.is_current)
        self.dispatcher = self.setup.dispatcher
        self.held.when_fenced = self._lose

    def _lose(self, shard: int) -> None:
        self.lost.append(shard)
        self.held.remove([shard])
        self.dispatcher.drop_shards([shard])


class Gateways:
    """`old` holds the home at the start, `new` holds nothing."""

    def __init__(self, leases: PostgresLeases, old: DeliveringGateway, new: DeliveringGateway) -> None:
        self._leases = leases
        self.old = old
        self.new = new

    async def take_over(self) -> None:
        """The lease of the old gateway ends, and it does not know it."""
        await take_over(self._leases, self.old, self.new, SHARD)
        self.new.dispatcher.start_shards([SHARD])

    async def report(self, gateway: DeliveringGateway, level: int) -> int:
        return await gateway.setup.report(LAMPS[0], level)


@pytest.fixture
async def gateways(open_store: OpenStore, postgres_url: str, clock: ManualClock) -> AsyncIterator[Gateways]:
    async with AsyncExitStack() as stack:
        leases = open_leases(postgres_url)
        stack.push_async_callback(leases.stop)
        pair = []
        for _ in range(2):
            gateway = DeliveringGateway(await open_store(postgres_url, member=True), clock)
            await gateway.dispatcher.start()
            stack.push_async_callback(gateway.dispatcher.stop)
            pair.append(gateway)
        old, new = pair
        await old.store.import_estate(ESTATE, prune=False)
        await old.acquire(leases, [SHARD])
        old.dispatcher.start_shards([SHARD])
        yield Gateways(leases, old, new)


async def test_the_holder_delivers_what_is_registered_at_another_gateway(gateways: Gateways) -> None:
    old, new = gateways.old, gateways.new
    webhook = await new.setup.register()
    cursor = await gateways.report(old, 1)
    await old.setup.until(lambda: old.sender.cursors() == [cursor])
    secret = await new.setup.webhooks.renew_secret(await new.setup.grant_access(), webhook.id)
    later = await gateways.report(old, 2)
    await old.setup.until(lambda: old.sender.cursors() == [cursor, later])
    assert (await old.setup.find(webhook)).secret == secret
    assert new.dispatcher.webhooks == 0
    await new.store.delete_webhook(webhook.id)
    await old.setup.until(lambda: old.dispatcher.webhooks == 0)
    assert new.sender.got == []


async def test_after_a_crash_the_next_holder_delivers_again_with_the_same_id(gateways: Gateways) -> None:
    """The old holder is frozen during a post. When it wakes up, it changes nothing and stops."""
    old, new = gateways.old, gateways.new
    answered = asyncio.Event()

    async def answer_late() -> int:
        await answered.wait()
        return 200

    old.sender.answer = lambda *_: answer_late()
    webhook = await old.setup.register()
    first = await gateways.report(old, 1)
    await old.setup.until(lambda: len(old.sender.got) == 1)
    await gateways.take_over()
    await new.setup.until(lambda: new.sender.cursors() == [first])
    later = await gateways.report(new, 2)
    await new.setup.until(lambda: new.sender.cursors() == [first, later])
    await new.setup.settle()
    answered.set()
    await old.setup.until(lambda: old.dispatcher.webhooks == 0)
    assert old.sender.cursors() == [first]
    assert old.lost == [SHARD]
    assert [headers["webhook-id"] for _, _, headers in old.sender.got + new.sender.got[:1]] == [f"{webhook.id}_{first}"] * 2
    assert (await new.setup.find(webhook)).position == later


@pytest.mark.parametrize("is_answered", [True, False])
async def test_a_hand_over_waits_a_short_time_for_running_posts(
    gateways: Gateways, is_answered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("domogate.services.webhooks.dispatcher._HAND_OVER", PATIENCE if is_answered else 0.05)
    old, new = gateways.old, gateways.new
    leaving = asyncio.Event()

    async def answer() -> int:
        await leaving.wait()
        if not is_answered:
            await asyncio.Event().wait()
        return 200

    old.sender.answer = lambda *_: answer()
    webhook = await old.setup.register()
    cursors = [await gateways.report(old, level) for level in range(3)]
    await old.setup.until(lambda: len(old.sender.got) == 1)
    leaving.set()
    old.held.begin_hand_over([SHARD])
    await old.dispatcher.hand_over([SHARD])
    assert old.dispatcher.webhooks == old.dispatcher.running == 0
    await gateways.take_over()
    repeated = cursors[1:] if is_answered else cursors
    await new.setup.until(lambda: new.sender.cursors() == repeated)
    await new.setup.settle()
    assert (await new.setup.find(webhook)).position == cursors[-1]


async def test_a_gateway_that_does_not_know_the_latest_rights_delivers_nothing(gateways: Gateways) -> None:
    old = gateways.old
    webhook = await old.setup.register()
    old.is_current = False
    cursor = await gateways.report(old, 1)
    await old.setup.pass_time(1)
    assert old.sender.got == []
    assert (await old.setup.find(webhook)).failures == 0
    old.is_current = True
    await old.setup.pass_time(1)
    assert old.sender.cursors() == [cursor]
