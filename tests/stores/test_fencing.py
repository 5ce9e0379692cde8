"""Two gateways on one PostgreSQL database: only the holder of a shard writes what its drivers report."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from domogate.domain.commands import Order, OrderEnd, OrderState, SetLight
from domogate.domain.events import StateChanged
from domogate.domain.ids import Id
from domogate.domain.shards import shard_of
from domogate.domain.states import LightState, Report
from domogate.ports import Fenced
from domogate.stores import SqlStore
from domogate.stores.leases import PostgresLeases, open_leases
from support.clocks import NOW
from support.holders import Holder, end_lease, take_over
from support.stores import HOUSE, LAMP, PLUG, SMALL, HeldStore, OpenStore, an_id, record_changes

pytestmark = pytest.mark.slow

SHARD = shard_of(HOUSE.id)
ON, OFF = LightState(on=True), LightState(on=False)


@pytest.fixture
async def leases(postgres_url: str) -> AsyncIterator[PostgresLeases]:
    leases = open_leases(postgres_url)
    yield leases
    await leases.stop()


@pytest.fixture
async def old(open_store: OpenStore, postgres_url: str, leases: PostgresLeases) -> Holder:
    """A gateway that holds the house, whose lease has ended."""
    gateway = Holder(await open_store(postgres_url, HeldStore))
    await gateway.store.import_estate(SMALL, prune=False)
    await gateway.acquire(leases, [SHARD, 0])
    return gateway


@pytest.fixture
async def new(open_store: OpenStore, postgres_url: str) -> Holder:
    return Holder(await open_store(postgres_url))


def report(state: LightState, module_id: Id = LAMP.id) -> Report:
    return Report(HOUSE.id, module_id, NOW, state)


def an_order(name: str = "one") -> Order:
    return Order(name, HOUSE.id, LAMP.id, SetLight(on=True), NOW + 5)


async def state_of_the_lamp(store: SqlStore) -> object:
    stored = await store.find_plant(HOUSE.id)
    assert stored is not None
    return stored.states[LAMP.id].state


class TestTheHolder:
    async def test_writes_reports_and_orders(self, old: Holder) -> None:
        await old.store.record([report(OFF)])
        await old.store.add_orders([an_order()], NOW, sent=True)
        await old.store.end_order(HOUSE.id, OrderEnd("one", OrderState.CONFIRMED, NOW), report(ON))
        assert await state_of_the_lamp(old.store) == ON
        assert old.lost == []


class TestAnEarlierHolder:
    async def test_changes_nothing_and_is_told(self, old: Holder, new: Holder, leases: PostgresLeases) -> None:
        await old.store.add_orders([an_order()], NOW, sent=True)
        await old.store.add_orders([an_order("queued")], NOW, sent=False)
        await take_over(leases, old, new, SHARD)
        await new.store.record([report(OFF)])
        changes = record_changes(new.store)
        for write in (
            old.store.record([report(ON)]),
            old.store.add_orders([an_order("two")], NOW, sent=True),
            old.store.mark_sent(HOUSE.id, "queued", NOW),
            old.store.end_order(HOUSE.id, OrderEnd("one", OrderState.CONFIRMED, NOW), report(ON)),
        ):
            with pytest.raises(Fenced):
                await write
        assert await state_of_the_lamp(new.store) == OFF
        orders = {name: await new.store.find_order(name) for name in ("one", "queued", "two")}
        states = {name: None if found is None else found.state for name, found in orders.items()}
        assert states == {"one": OrderState.SENT, "queued": OrderState.QUEUED, "two": None}
        assert old.lost == [SHARD] * 4
        assert changes.events == []

    async def test_does_not_disturb_writes_of_the_same_batch(self, old: Holder, new: Holder, leases: PostgresLeases) -> None:
        """The lamp's shard is lost, another shard is still held; general work runs between them."""
        assert isinstance(old.store, HeldStore)
        other_plant = next(plant for n in range(5000) if shard_of(plant := an_id(100_000 + n)) == 0)
        await take_over(leases, old, new, SHARD)
        first = await old.store.hold(old.store.set_address("https://elsewhere.example"))
        order = Order("other", other_plant, an_id(5), SetLight(on=True), NOW + 5)
        writes = [
            asyncio.ensure_future(write)
            for write in (
                old.store.record([report(ON)]),
                old.store.add_orders([order], NOW, sent=True),
                old.store.set_address("https://here.example"),
                old.store.add_orders([an_order()], NOW, sent=True),
            )
        ]
        await asyncio.sleep(0)
        commits = old.store.commits
        old.store.released.set()
        await first
        results = await asyncio.gather(*writes, return_exceptions=True)
        assert [type(result) for result in results] == [Fenced, list, type(None), Fenced]
        assert old.store.commits == commits + 2, "the held commit, and one for all four"
        assert await new.store.find_order("other") is not None
        assert await new.store.find_order("one") is None
        assert await new.store.find_address() == "https://here.example"

    async def test_reports_of_its_other_shards_are_written(self, old: Holder, new: Holder, leases: PostgresLeases) -> None:
        await take_over(leases, old, new, SHARD)
        elsewhere = next(plant for n in range(5000) if shard_of(plant := an_id(100_000 + n)) == 0)
        changes = record_changes(old.store)
        # The store finds the plant of a module itself, so the plug of the house stands for a module of another shard.
        others = Report(elsewhere, PLUG.id, NOW, reachable=False)
        with pytest.raises(Fenced):
            await old.store.record([report(ON), others])
        assert [event.module_id for event in changes.events if isinstance(event, StateChanged)] == [PLUG.id]

    async def test_a_write_of_a_plant_that_is_not_held_is_refused_without_asking_the_database(self, new: Holder) -> None:
        with pytest.raises(Fenced):
            await new.store.record([report(ON)])
        assert new.lost == []

    async def test_a_shard_that_was_released_is_not_written_any_more(self, old: Holder, leases: PostgresLeases) -> None:
        await leases.release(old.member.id, [SHARD])
        with pytest.raises(Fenced):
            await old.store.record([report(ON)])


class TestTakingOver:
    async def test_a_shard_is_not_taken_while_its_holder_writes(self, old: Holder, new: Holder, leases: PostgresLeases) -> None:
        """The transaction has checked the epoch and has not committed yet."""
        assert isinstance(old.store, HeldStore)
        writing = await old.store.hold(old.store.record([report(ON)]))
        await leases.join(new.member, 60)
        await end_lease(leases, old.member)
        assert await leases.acquire(new.member.id, [SHARD]) == {}
        old.store.released.set()
        await writing
        assert await leases.acquire(new.member.id, [SHARD]) == {SHARD: 2}


class TestOverdueOrders:
    async def test_only_the_holder_ends_them(self, old: Holder, new: Holder) -> None:
        await old.store.add_orders([an_order()], NOW, sent=True)
        await old.store.add_orders([an_order("queued")], NOW, sent=False)
        assert await new.store.end_overdue_orders(NOW + 100) == 0
        assert await old.store.end_overdue_orders(NOW) == 0
        assert await old.store.end_overdue_orders(NOW + 100) == 2
        ended = [await old.store.find_order(name) for name in ("one", "queued")]
        assert [found and found.state for found in ended] == [OrderState.UNKNOWN, OrderState.EXPIRED]

    async def test_any_gateway_may_queue_an_order(self, old: Holder, new: Holder) -> None:
        assert await new.store.add_orders([an_order()], NOW, sent=False) == [None]
