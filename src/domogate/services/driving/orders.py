"""The life of an order on disk: written before it is sent, ended once, settled if its process is gone (Decision 0034)."""

import asyncio
from collections.abc import Sequence

import structlog

from domogate.common.tasks import cancel
from domogate.domain.commands import Order, OrderEnd, OrderRecord, OrderState, end_after
from domogate.domain.faults import DeviceRefused, DeviceTimeout, Fault, Internal, OrderKeyTaken
from domogate.domain.states import Report
from domogate.ports import Clock, OrderStore

_log = structlog.get_logger(__name__)

_GRACE = 2.0
"""Seconds after its deadline in which only the process that sent an order ends it."""
_SETTLE_EVERY = 5.0
_MOST_RESUMED = 10_000


class Orders:
    """Every order is on disk before it is sent. It is sent at most once, and never after its deadline."""

    def __init__(self, store: OrderStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._settling: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Settle orders of processes that are gone, from now on."""
        self._settling = asyncio.create_task(self._settle_regularly(), name="settle orders")

    async def stop(self) -> None:
        await cancel(self._settling)

    # one order

    async def begin(self, order: Order) -> OrderRecord | None:
        """Write the order as sent. None: send it now. A record: the order was sent before, do not send it.

        Raises OrderKeyTaken if the id belongs to another order, Internal.
        """
        try:
            known = (await self._store.add_orders((order,), self._clock.now(), sent=True))[0]
            if known is None:
                return None
            if not order.repeats(known.order):
                raise OrderKeyTaken("this idempotency key was used for another command")
            if known.state is not OrderState.QUEUED:
                return known
            if await self._store.mark_sent(order.id, self._clock.now()):
                return None
            known = await self._store.find_order(order.id)
            if known is None:
                raise Internal("the order was removed from the store before it was sent")
            return known
        except Fault:
            raise
        except Exception as error:
            _log.error("order not written", order_id=order.id, plant_id=order.plant_id, exc_info=error)
            raise Internal("the order could not be written, and was not sent") from error

    async def end(self, order: Order, fault: Fault) -> None:
        """The order was not confirmed. A failed write is logged; the order is settled later."""
        try:
            await self._store.end_order(OrderEnd(order.id, end_after(fault), self._clock.now(), fault.message))
        except Exception as error:
            _log.error("end of an order not written", order_id=order.id, plant_id=order.plant_id, exc_info=error)

    async def reject(self, order: Order, fault: Fault) -> None:
        """The order is not sent: write it together with the reason."""
        try:
            known = (await self._store.add_orders((order,), self._clock.now(), sent=False))[0]
        except Exception as error:
            _log.error("order not written", order_id=order.id, plant_id=order.plant_id, exc_info=error)
            return
        if known is None or known.state is OrderState.QUEUED:
            await self.end(order, fault)

    # orders of processes that are gone

    async def list_queued(self) -> Sequence[Order]:
        """Queued orders before their deadline, the oldest first."""
        records = await self._store.list_orders(None, None, OrderState.QUEUED, None, _MOST_RESUMED)
        now = self._clock.now()
        return [record.order for record in reversed(records) if record.order.deadline > now]

    async def settle(self) -> int:
        """End the orders that are past their deadline and have no end. Returns their number."""
        return await self._store.settle_orders(self._clock.now() - _GRACE)

    async def _settle_regularly(self) -> None:
        while True:
            try:
                settled = await self.settle()
                if settled:
                    _log.warning("orders without an end settled", orders=settled)
            except Exception as error:
                _log.error("orders not settled; will retry", exc_info=error)
            await asyncio.sleep(_SETTLE_EVERY)


def answer_again(record: OrderRecord) -> Report:
    """The answer to a repeated order, without a state. Raises the fault of an order that was not confirmed."""
    if record.state is OrderState.FAILED:
        raise DeviceRefused(record.problem or "the device did not carry out the order")
    if record.state is OrderState.UNKNOWN:
        raise DeviceTimeout("the order was sent, and its outcome is unknown")
    if record.state is OrderState.QUEUED:
        raise DeviceTimeout("the order was not sent before its deadline")
    if record.state is not OrderState.CONFIRMED:
        raise DeviceTimeout(record.problem or "the order was sent before, and the device has not confirmed it")
    return Report(record.order.plant_id, record.order.module_id, record.ended_at or record.queued_at)
