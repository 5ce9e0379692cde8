"""Two gateways on a NATS server, in one process: their fabrics, and hosts that answer at once, fail or hang."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager

from domogate.app.parts import SystemClock
from domogate.domain.commands import Order, SwitchPlug
from domogate.domain.faults import Fault
from domogate.domain.ids import Id
from domogate.domain.shards import shard_of
from domogate.domain.states import PlugState, Report
from domogate.fabric.connection import NatsAccess, NatsConnection
from domogate.fabric.nats import NatsFabric
from domogate.ports import Picture
from support.devices import make_id, make_order

PLANT, PLUG = make_id(1), make_id(2)
SHARD = shard_of(PLANT)
REPORT = Report(PLANT, PLUG, 12.5, state=PlugState(on=True))
LARGE = Picture("image/jpeg", bytes(range(256)) * 3_000)


class Driven:
    """The host of a gateway. It answers at once, fails or hangs."""

    def __init__(self) -> None:
        self.orders: list[Order] = []
        self.deadlines: list[float] = []
        self.trouble: Fault | Exception | None = None
        self.hangs = False

    async def execute(self, order: Order) -> Report:
        self.orders.append(order)
        return await self._answer(order.deadline)

    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report:
        return await self._answer(deadline)

    async def take_picture(self, plant_id: Id, module_id: Id, deadline: float) -> Picture:
        await self._answer(deadline)
        return LARGE

    async def _answer(self, deadline: float) -> Report:
        self.deadlines.append(deadline)
        if self.trouble is not None:
            raise self.trouble
        if self.hangs:
            await asyncio.Event().wait()
        return REPORT


class Traced:
    """A MessageTrace that counts the questions, and keeps the traces that arrived with them."""

    def __init__(self) -> None:
        self.asked = 0
        self.arrived: list[str | None] = []

    @contextmanager
    def ask(self, subject: str) -> Iterator[dict[str, str]]:
        self.asked += 1
        yield {"traceparent": f"trace of {subject}"}

    async def answer(self, _subject: str, headers: Mapping[str, str] | None, work: Awaitable[None]) -> None:
        self.arrived.append((headers or {}).get("traceparent"))
        await work


class Side:
    """One gateway: its fabric, its host, and what it thinks about shards without a holder."""

    def __init__(self, access: NatsAccess, cluster: str = "test", trace: Traced | None = None) -> None:
        self.connection = NatsConnection(access, "test")
        self.host = Driven()
        self.is_moving = False
        self.looked = 0
        """The number of times that the fabric has asked whether a shard is moving."""
        self.spread: list[float] = []
        self.spreading = asyncio.Event()
        """While it is not set, the other gateways do not know what an order has changed."""
        self.spreading.set()
        self.fabric = NatsFabric(self.connection, SystemClock(), cluster, self._is_moving, self._spread, trace)
        self.fabric.serve(self.host)

    async def settle(self) -> None:
        """Wait until the server knows the subscriptions. On a busy machine, the first attempt to connect can fail."""
        assert await self.connection.wait_connected(60)
        for _ in range(10):
            await asyncio.sleep(0)
        await self.connection.flush()

    async def _is_moving(self, _shard: int) -> bool:
        self.looked += 1
        return self.is_moving

    async def _spread(self, seconds: float) -> None:
        self.spread.append(seconds)
        await self.spreading.wait()


@asynccontextmanager
async def connected(access: NatsAccess, cluster: str = "test", trace: Traced | None = None) -> AsyncIterator[Side]:
    side = Side(access, cluster, trace)
    try:
        await side.fabric.start()
        yield side
    finally:
        await side.fabric.stop()


def order_within(seconds: float) -> Order:
    return make_order(PLANT, PLUG, SwitchPlug(on=True), deadline=time.time() + seconds)
