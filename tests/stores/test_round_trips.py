"""The round trips of a write to a PostgreSQL server (Decision 0144). With a slow network, a write takes as long as these."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import pytest
import pytest_asyncio
from sqlalchemy.exc import IntegrityError

from domogate.domain.commands import Order, OrderEnd, OrderState, SetLight
from domogate.domain.ids import new_id
from domogate.domain.states import LightState
from domogate.ports import OrderFilter, StoreUnavailable
from domogate.stores import SqlStore
from domogate.stores.engine import Transaction
from domogate.stores.subject import writes
from domogate.stores.tables.devices import orders
from support.clocks import NOW
from support.houses import house_of, houses, lamp_of, lamp_on
from support.postgres import PostgresServer
from support.stores import OpenStore
from support.tcp_proxy import TcpProxy

_WRITES = 20


@pytest_asyncio.fixture
async def proxy(postgres: PostgresServer) -> AsyncIterator[TcpProxy]:
    proxy = TcpProxy(postgres.socket, marker=b"pg_advisory_xact_lock")  # Only the writer sends this.
    await proxy.start()
    yield proxy
    await proxy.stop()


@pytest_asyncio.fixture
async def store(open_store: OpenStore, postgres_url: str, proxy: TcpProxy) -> AsyncIterator[SqlStore]:
    direct = await open_store(postgres_url)
    await direct.import_estate(houses(2), prune=False)
    await direct.stop()
    store = await open_store(f"postgresql+psycopg://postgres@127.0.0.1:{proxy.port}/postgres", member=True)
    yield store
    await store.stop()


def _order() -> Order:
    return Order(new_id(), house_of(0), lamp_of(0), SetLight(on=True), NOW + 60)


async def _count(proxy: TcpProxy, write: Callable[[int], Awaitable[object]]) -> int:
    """Return the round trips of one write on the connection of the writer."""
    for number in range(_WRITES):  # The database driver prepares statements that are executed several times.
        await write(number)
    before = proxy.round_trips
    for number in range(_WRITES):
        await write(number)
    return round((proxy.round_trips - before) / _WRITES)  # A heartbeat may come between.


class TestRoundTrips:
    async def test_a_report_needs_two(self, store: SqlStore, proxy: TcpProxy) -> None:
        assert await _count(proxy, lambda number: store.record([lamp_on(number, 0)])) == 2

    async def test_a_new_order_needs_three_because_its_id_is_looked_up(self, store: SqlStore, proxy: TcpProxy) -> None:
        assert await _count(proxy, lambda _: store.add_orders([_order()], NOW, sent=True)) == 3

    async def test_the_end_of_an_order_with_its_report_needs_two(self, store: SqlStore, proxy: TcpProxy) -> None:
        added = [_order() for _ in range(2 * _WRITES)]
        await store.add_orders(added, NOW, sent=True)
        ends = iter([OrderEnd(order.id, OrderState.CONFIRMED, NOW + 1) for order in added])
        report = lamp_on(1, 0)
        assert await _count(proxy, lambda _: store.end_order(house_of(0), next(ends), report)) == 2
        assert await _list_open_orders(store) == []


async def _list_open_orders(store: SqlStore) -> list[str]:
    return [record.order.id for record in await store.list_orders(OrderFilter(only_open=True), 100)]


async def _list_levels(store: SqlStore) -> Sequence[object]:
    stored = await store.find_plant(house_of(0))
    assert stored is not None
    return [known.state.level for known in stored.states.values() if isinstance(known.state, LightState)]


def _refuse_orders(tx: Transaction) -> None:
    tx.connection.execute(orders.delete())
    tx.connection.exec_driver_sql("ALTER TABLE orders ADD CONSTRAINT no_orders CHECK (queued_at < 0)")


def _allow_orders(tx: Transaction) -> None:
    tx.connection.exec_driver_sql("ALTER TABLE orders DROP CONSTRAINT no_orders")


class TestTheLastWrites:
    async def test_if_one_fails_nothing_is_stored_and_the_store_goes_on(self, store: SqlStore) -> None:
        await writes(_refuse_orders)(store)
        with pytest.raises(IntegrityError):
            await store.add_orders([_order()], NOW, sent=True)
        await store.record([lamp_on(7, 0)])
        await writes(_allow_orders)(store)
        order = _order()
        assert await store.add_orders([order], NOW, sent=True) == [None]
        assert await _list_open_orders(store) == [order.id]
        assert await _list_levels(store) == [7]

    async def test_a_lost_connection_is_not_taken_for_a_commit(self, store: SqlStore, proxy: TcpProxy) -> None:
        await store.record([lamp_on(1, 0)])
        proxy.cut()
        lost = store.record([lamp_on(2, 0)])
        proxy.drop()
        with pytest.raises(StoreUnavailable):
            await lost
        proxy.heal()
        await store.record([lamp_on(3, 0)])
        assert await _list_levels(store) == [3]
