"""The life of an order on disk: kept before it is sent, ended once, settled when nobody is left to end it (Decision 0034)."""

import asyncio
from collections.abc import Sequence

import structlog

from domogate.domain.commands import Order, OrderEnd, OrderRecord, OrderState
from domogate.domain.faults import DeviceRefused, DeviceTimeout, Fault, Internal, OrderKeyTaken
from domogate.ports import Clock, OrderStore

_log = structlog.get_logger(__name__)

_GRACE = 2.0
"""For so long after its deadline an order is left to the process that sent it, which may be writing its end this moment."""
_SETTLING = 5.0
_MOST_TAKEN_UP = 10_000

ENDS = frozenset({OrderState.CONFIRMED, OrderState.FAILED, OrderState.EXPIRED, OrderState.UNKNOWN})


class Orders:
    """Keeps orders: none is sent that is not on disk, none is sent twice, none after its deadline."""

    def __init__(self, store: OrderStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._queued_here: dict[str, float] = {}
        """Queued by this process and not begun yet, with their deadlines: of these it is known that they are on disk."""
        self._settling: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """From now on, end what was left behind by processes that are gone."""
        self._settling = asyncio.create_task(self._settle_now_and_then(), name="settling of orders")

    async def stop(self) -> None:
        if self._settling is not None:
            self._settling.cancel()
            await asyncio.gather(self._settling, return_exceptions=True)
            self._settling = None

    # one life

    async def queue(self, orders: Sequence[Order]) -> None:
        """Keep them, to be sent in a moment: all of them or none. Raises Internal."""
        try:
            await self._store.add_orders(orders, self._clock.now(), sent=False)
        except Exception as error:
            _log.error("orders not kept", orders=len(orders), exc_info=error)
            raise Internal("the order could not be kept, and was not sent") from error
        self._queued_here.update((order.id, order.deadline) for order in orders)

    async def begin(self, order: Order) -> OrderRecord | None:
        """Keep it as sent. None: send it now; else it is not to be sent, and this is what became of it so far.

        Raises OrderKeyTaken when the id belongs to another order, Internal.
        """
        now = self._clock.now()
        try:
            if order.id not in self._queued_here:
                known = (await self._store.add_orders((order,), now, sent=True))[0]
                if known is None:
                    return None
                if not is_same_wish(known.order, order):
                    raise OrderKeyTaken("this idempotency key was used for another command")
                if known.state is not OrderState.QUEUED:
                    return known
            self._queued_here.pop(order.id, None)
            if await self._store.mark_sent(order.id, self._clock.now()):
                return None
            known = await self._store.find_order(order.id)
            if known is None:
                raise Internal("the order is not kept any more, and was not sent")
            return known
        except Fault:
            raise
        except Exception as error:
            _log.error("order not kept", order_id=order.id, plant_id=order.plant_id, exc_info=error)
            raise Internal("the order could not be kept, and was not sent") from error

    async def end(self, order: Order, fault: Fault) -> None:
        """It was not confirmed. That this could not be written is logged: it will be settled later."""
        try:
            await self._store.end_order(OrderEnd(order.id, end_after(fault), self._clock.now(), fault.message))
        except Exception as error:
            _log.error("end of an order not kept", order_id=order.id, plant_id=order.plant_id, exc_info=error)

    async def turn_away(self, order: Order, fault: Fault) -> None:
        """It is not sent at all: keep that it was wanted, and why it was not done."""
        try:
            if order.id not in self._queued_here:
                known = (await self._store.add_orders((order,), self._clock.now(), sent=False))[0]
                if known is not None and known.state is not OrderState.QUEUED:
                    return
            self._queued_here.pop(order.id, None)
        except Exception as error:
            _log.error("order not kept", order_id=order.id, plant_id=order.plant_id, exc_info=error)
            return
        await self.end(order, fault)

    async def find(self, order_id: str) -> OrderRecord | None:
        return await self._store.find_order(order_id)

    # what was left behind

    async def list_queued(self) -> Sequence[Order]:
        """Those that can still be sent in time, the oldest first."""
        records = await self._store.list_orders(None, None, OrderState.QUEUED, None, _MOST_TAKEN_UP)
        now = self._clock.now()
        return [record.order for record in reversed(records) if record.order.deadline > now]

    async def settle(self) -> int:
        """End those past their deadline that nobody ended; how many."""
        past = self._clock.now() - _GRACE
        self._queued_here = {order_id: deadline for order_id, deadline in self._queued_here.items() if deadline > past}
        return await self._store.settle_orders(past)

    async def _settle_now_and_then(self) -> None:
        while True:
            try:
                settled = await self.settle()
                if settled:
                    _log.warning("orders settled that no process ended", orders=settled)
            except Exception as error:
                _log.error("orders not settled, next try in a moment", exc_info=error)
            await asyncio.sleep(_SETTLING)


def is_same_wish(kept: Order, asked: Order) -> bool:
    """Whether the one asks for what the other asked for: the same command on the same module."""
    return (kept.plant_id, kept.module_id, kept.command) == (asked.plant_id, asked.module_id, asked.command)


def end_after(fault: Fault) -> OrderState:
    return OrderState.EXPIRED if isinstance(fault, DeviceTimeout) else OrderState.FAILED


def fault_of(record: OrderRecord) -> Fault | None:
    """What to tell who sends the same order again. None: it was confirmed."""
    if record.state is OrderState.CONFIRMED:
        return None
    if record.state is OrderState.FAILED:
        return DeviceRefused(record.problem or "the device did not carry it out")
    if record.state is OrderState.UNKNOWN:
        return DeviceTimeout("it was sent, and what became of it was lost")
    if record.state is OrderState.QUEUED:
        return DeviceTimeout("it was not sent: the time of the order was up")
    return DeviceTimeout(record.problem or "it was sent before, and the device has not confirmed it")
