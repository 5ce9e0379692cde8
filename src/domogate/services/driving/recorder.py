"""Writes reports and orders to the store, and keeps the last report of each driven module in memory.

The store writes reports in the sequence of the calls. Reports of many callers share a commit. Reports that nobody asked for
wait in the queue of their driver. So a driver that sends too many reports delays only itself. The answer to an order or a
question is written immediately. A report that arrives late does not replace a newer report.

An order is written before it is sent, and its end is written once. If the process that sent the order has stopped, another
process writes the end (Decision 0034).
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Protocol

import msgspec

from domogate.common.log import get_logger
from domogate.common.tasks import cancel
from domogate.domain.commands import Order, OrderEnd, OrderRecord, OrderState, end_after
from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout, Fault, Internal, OrderKeyTaken
from domogate.domain.ids import Id
from domogate.domain.states import Report, State
from domogate.ports import Clock, Fenced, OrderFilter, OrderStore, StateStore, StoredState, StoreUnavailable

_log = get_logger(__name__)

_BATCH = 250
"""The largest number of reports in one write. More reports would delay other tasks, because encoding them takes time."""
_MOST_WAITING = 20_000
"""The number of reports that may wait in a queue. A driver that awaits each call of `report` stays far below this limit."""


class RecorderStore(StateStore, OrderStore, Protocol):
    """The parts of the store with reports and orders."""


class TooManyReports(RuntimeError):
    """The queue of the driver is full, because the driver calls `report` without awaiting it.

    The reports of the refused call are not recorded. The reports that are already in the queue are recorded.
    """


class _LastReport:
    """The last recorded state of a module, and the number of the report with this state."""

    __slots__ = ("number", "reachable", "state")

    def __init__(self, state: State | None, reachable: bool) -> None:
        self.state = state
        self.reachable = reachable
        self.number = 0


class Recorder:
    """Records reports, and knows the last report of each driven module."""

    def __init__(self, store: RecorderStore, on_lost: Callable[[str], None] = lambda _: None) -> None:
        """`on_lost` is called with the id of a plant if the store could not write reports of the plant."""
        self._store = store
        self._on_lost = on_lost
        self._last: dict[str, _LastReport] = {}
        self._numbers = itertools.count(1)
        self.confirmed = 0
        """The number of orders that devices confirmed since the start."""

    # the last reports

    def start_from(self, module_ids: Iterable[Id], states: Mapping[Id, StoredState]) -> None:
        """Use the stored states as last reports. A module that already has a last report keeps it."""
        for module_id in module_ids:
            if module_id not in self._last:
                stored = states.get(module_id)
                self._last[module_id] = (
                    _LastReport(None, True) if stored is None else _LastReport(stored.state, stored.reachable)
                )

    def forget(self, module_ids: Iterable[Id]) -> None:
        for module_id in module_ids:
            self._last.pop(module_id, None)

    def is_new(self, report: Report) -> bool:
        """Whether the state or the reachability in the report differs from the last report of its module."""
        last = self._last.get(report.module_id)
        if last is None:
            return True
        return last.reachable != report.reachable or (report.state is not None and report.state != last.state)

    def is_reachable(self, module_id: Id) -> bool:
        """Whether the module was reachable in its last report. True if there is no report."""
        last = self._last.get(module_id)
        return last is None or last.reachable

    # recording

    def next_number(self) -> int:
        """Return the number of the next report. A report with a higher number is newer."""
        return next(self._numbers)

    async def record(self, reports: Sequence[Report], number: int | None = None) -> None:
        """Record reports that the driver sent without a question.

        An error is logged and not raised, so that the driver continues. `number` says how new the reports are (`next_number`).
        None means that they are newer than all earlier reports.
        """
        number = self.next_number() if number is None else number
        for start in range(0, len(reports), _BATCH):
            batch = self._without_outdated(reports[start : start + _BATCH], number)
            if not batch:
                continue
            try:
                # There must be no await before this line, so that reports are recorded in the order of the calls.
                await self._store.record(batch)
            except Fenced as fenced:
                _log.warning("reports not recorded: another gateway drives the plant", reason=str(fenced))
            except Exception as error:
                _log.error("reports not recorded", plant_id=batch[0].plant_id, reports=len(batch), exc_info=error)
                for plant_id in {report.plant_id for report in batch}:
                    self._on_lost(plant_id)
            else:
                self._remember(batch)

    async def record_answer(self, report: Report) -> None:
        """Record the report, and wait until it is on disk.

        If the caller is cancelled, the report is written only if its write has begun. Raises DeviceTimeout if another gateway
        drives the plant now, and Internal if the store fails.
        """
        await self._record_newest(report, self._store.record((report,)))

    def confirm(self, end: OrderEnd, report: Report) -> Awaitable[None]:
        """Record the report and the end of its order, in one commit.

        Raises DeviceTimeout if another gateway drives the plant now, and Internal if the store fails.
        """
        return self._record_newest(report, self._store.end_order(Id(report.plant_id), end, report), confirms=True)

    async def _record_newest(self, report: Report, writing: Awaitable[None], *, confirms: bool = False) -> None:
        """Wait until the report is written. `confirms`: the report confirms an order. Raises DeviceTimeout, Internal."""
        last = self._last.get(report.module_id)
        if last is not None:
            last.number = self.next_number()
        try:
            await writing
        except Fenced as fenced:
            _log.warning("answer not recorded: another gateway drives the plant", reason=str(fenced))
            raise DeviceTimeout("the device was asked, but another gateway drives its plant now") from fenced
        except Exception as error:
            _log.error("report not recorded", plant_id=report.plant_id, module_id=report.module_id, exc_info=error)
            self._on_lost(report.plant_id)
            is_temporary = isinstance(error, StoreUnavailable)
            raise Internal("the answer of the device could not be recorded", is_temporary=is_temporary) from error
        self._remember((report,))
        self.confirmed += confirms

    def _without_outdated(self, reports: Sequence[Report], number: int) -> Sequence[Report]:
        """Return the reports without outdated states.

        A report is outdated if a newer report of its module is known. Only the readings of an outdated report are kept.
        """
        kept = []
        for report in reports:
            last = self._last.get(report.module_id)
            if last is None or last.number <= number:
                if last is not None:
                    last.number = number
                kept.append(report)
            elif report.readings:
                kept.append(msgspec.structs.replace(report, state=None, reachable=last.reachable, absence=None))
        return kept

    def _remember(self, reports: Sequence[Report]) -> None:
        for report in reports:
            last = self._last.get(report.module_id)
            if last is not None:
                last.reachable = report.reachable
                if report.state is not None:
                    last.state = report.state


class ReportQueue:
    """The reports of one driver that are not in the store yet. `push` waits until they are on disk."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._turn = asyncio.Lock()
        self.waiting = 0
        """The number of reports that are not on disk yet."""

    async def flush(self, seconds: float) -> None:
        """Wait until all reports that were pushed before this call are recorded, but at most this number of seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds), self._turn:
                pass

    async def push(self, reports: Sequence[Report]) -> None:
        """Add the reports to the queue, and wait until they are recorded. Raises TooManyReports if the queue is full."""
        if self.waiting >= _MOST_WAITING:
            raise TooManyReports(f"{self.waiting} reports wait to be recorded; {len(reports)} more were refused")
        number = self._recorder.next_number()
        self.waiting += len(reports)
        try:
            async with self._turn:
                await self._recorder.record(reports, number)
        finally:
            self.waiting -= len(reports)


_GRACE = 2.0
"""In seconds. `settle` ends an order only if its deadline passed more than this time ago: until then, the process that sent
or queued the order can still end it. Clocks of gateways differ by less than `_GRACE`.
"""
_SETTLE_EVERY = 5.0
_MOST_RESUMED = 10_000


class Orders:
    """Writes orders to the store.

    Every order is on disk before it is sent. It is sent at most once, and never after its deadline.
    """

    def __init__(self, store: OrderStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self.ended = dict.fromkeys((OrderState.FAILED, OrderState.EXPIRED), 0)
        """The number of calls of `end` since the start, by final state. Orders that `settle` ends are not counted."""
        self._settling: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start a task that regularly calls `settle`: a process that stops may leave orders without a final state."""
        self._settling = asyncio.create_task(self._settle_regularly(), name="settle orders")

    async def stop(self) -> None:
        await cancel(self._settling)

    # one order

    async def begin(self, order: Order) -> OrderRecord | None:
        """Store the order with the state SENT. If the result is None, the caller must send the order now.

        If the result is a record, the caller must not send the order: it was sent or ended before, or its deadline has passed.

        Raises OrderKeyTaken if the id was used for another command or module, or was used before and `order.once` is True.
        Raises DeviceOffline if another gateway drives the plant, and Internal if the store fails.
        """
        try:
            known = (await self._store.add_orders((order,), self._clock.now(), sent=True))[0]
            if known is None:
                return None
            _check_repetition(order, known)
            if known.state is not OrderState.QUEUED:
                return known
            if await self._store.mark_sent(order.plant_id, order.id, self._clock.now()):
                return None
            known = await self._store.find_order(order.id)
            if known is None:
                raise Internal("the order was removed from the store before it was sent")
            return known
        except Fault:
            raise
        except Fenced as fenced:
            _log.warning("order not sent: another gateway drives the plant", order_id=order.id, reason=str(fenced))
            raise DeviceOffline("the module is offline: another gateway drives its plant now") from fenced
        except Exception as error:
            _log.error("order not written", order_id=order.id, plant_id=order.plant_id, exc_info=error)
            is_temporary = isinstance(error, StoreUnavailable)
            raise Internal("the order could not be written, and was not sent", is_temporary=is_temporary) from error

    async def end(self, order: Order, fault: Fault) -> None:
        """End an order that was not confirmed. If the write fails, the failure is logged, and `settle` ends the order later."""
        self.ended[end_after(fault)] += 1
        try:
            await self._store.end_order(order.plant_id, OrderEnd(order.id, end_after(fault), self._clock.now(), fault.message))
        except Exception as error:
            _log.error("end of an order not written", order_id=order.id, plant_id=order.plant_id, exc_info=error)

    async def reject(self, order: Order, fault: Fault) -> None:
        """Write an order that is not sent, together with the reason.

        Raises OrderKeyTaken if `order.once` is True and the store already has an order with this id.
        """
        try:
            known = (await self._store.add_orders((order,), self._clock.now(), sent=False))[0]
        except Exception as error:
            _log.error("order not written", order_id=order.id, plant_id=order.plant_id, exc_info=error)
            return
        if known is not None and order.once:
            _check_repetition(order, known)
        if known is None or known.state is OrderState.QUEUED:
            await self.end(order, fault)

    # orders of processes that have ended

    async def list_queued(self) -> Sequence[Order]:
        """Return the queued orders whose deadline has not passed, oldest first.

        Orders that were queued together, such as the steps of a scene, are sorted by deadline. An order that was queued at a
        time more than `_GRACE` seconds in the future is left out: the clock was set back, so its deadline may have passed.
        """
        records = await self._store.list_orders(OrderFilter(state=OrderState.QUEUED), _MOST_RESUMED)
        now = self._clock.now()
        in_order = sorted(records, key=lambda record: (record.queued_at, record.order.deadline, record.order.id))
        return [one.order for one in in_order if one.order.deadline > now and one.queued_at <= now + _GRACE]

    async def settle(self) -> int:
        """Give a final state to each order that has none yet and whose deadline passed more than `_GRACE` seconds ago.

        Return the number of these orders. In a cluster, only orders of plants that this gateway holds are ended.
        """
        return await self._store.end_overdue_orders(self._clock.now() - _GRACE)

    async def _settle_regularly(self) -> None:
        while True:
            try:
                settled = await self.settle()
                if settled:
                    _log.warning("orders without an end settled", orders=settled)
            except Exception as error:
                _log.error("orders not settled; will retry", exc_info=error)
            await asyncio.sleep(_SETTLE_EVERY)


def _check_repetition(order: Order, known: OrderRecord) -> None:
    """Check an order whose id an earlier order (`known`) already has.

    Raises OrderKeyTaken if `order.once` is True, or if the earlier order has another command or module.
    """
    if order.once:
        raise OrderKeyTaken("this order was given before")
    if not order.repeats(known.order):
        raise OrderKeyTaken("this idempotency key was used for another command")


def answer_again(record: OrderRecord) -> Report:
    """Return the answer to an order that was sent or ended before, or whose deadline has passed: a report without a state.

    Raises a fault if the order was not confirmed.
    """
    if record.state is OrderState.FAILED:
        raise DeviceRefused(record.problem or "the device did not carry out the order")
    if record.state is OrderState.UNKNOWN:
        raise DeviceTimeout("the order was sent, and its outcome is unknown")
    if record.state is OrderState.QUEUED:
        raise DeviceTimeout("the order was not sent before its deadline")
    if record.state is not OrderState.CONFIRMED:
        raise DeviceTimeout(record.problem or "the order was sent before, and the device has not confirmed it")
    return Report(record.order.plant_id, record.order.module_id, record.ended_at or record.queued_at)
