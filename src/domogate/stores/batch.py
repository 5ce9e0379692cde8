"""Runs the writes of concurrent callers (a batch) in one transaction.

Changes of orders that directly follow each other in a batch are merged: one statement adds all new orders, one statement marks
the sent orders, and one statement ends orders. Each caller gets the same result as if the writes ran one after the other.
Reports are also merged. Other work is merged if several callers need the same function (`shared_work.py`).
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from math import inf
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, bindparam, insert, update
from sqlalchemy.exc import IntegrityError

from domogate.domain.commands import OrderEnd, OrderRecord, OrderState
from domogate.domain.states import Report
from domogate.stores.codec import NUL, order_from_row, order_to_row
from domogate.stores.direct import DirectStatement
from domogate.stores.engine import Database, Transaction
from domogate.stores.fencing import Fence, refuse_fenced
from domogate.stores.readers import expire
from domogate.stores.recorder import Prepared, Recorder, prepare
from domogate.stores.shared_work import SharedWorkFailed, do_together, find_function
from domogate.stores.tables.devices import orders
from domogate.stores.write_lock import WriteLock

_OF_ID: ColumnElement[bool] = orders.c.id == bindparam("of_id")
_INSERT = DirectStatement(insert(orders))
_COLUMNS = orders.columns.keys()
_MARK = DirectStatement(
    update(orders)
    .where(_OF_ID, orders.c.state == OrderState.QUEUED.value)
    .values(state=OrderState.SENT.value, sent_at=bindparam("at"))
)
_END = DirectStatement(
    update(orders)
    .where(_OF_ID, orders.c.ended_at.is_(None))
    .values(state=bindparam("end"), ended_at=bindparam("at"), problem=bindparam("words"))
)


class AddOrders(msgspec.Struct, frozen=True):
    """New orders, and their commands as text."""

    records: Sequence[OrderRecord]
    commands: Sequence[str]
    are_new: bool = False
    """Whether all ids are new (`Order.is_new`). If so, the store is not searched for these ids."""


class MarkSent(msgspec.Struct, frozen=True):
    order_id: str
    at: float


OrderChange = AddOrders | MarkSent | OrderEnd


def change_orders(tx: Transaction, order_changes: Sequence[OrderChange]) -> list[Any]:
    """Make all changes, one after the other. Return one answer for each change.

    For new orders, the answer is a list. For each new order, the list has the existing order with the same id, or None if
    there is none. For MarkSent, the answer says whether to send the order. For the end of an order, the answer is None.
    """
    known: dict[str, OrderRecord] = {}
    if ids := _ids_to_know(order_changes):
        known = {row[0]: order_from_row(row) for row in tx.database.find_rows(tx.connection, orders.c.id, ids)}
    texts: dict[str, str] = {}
    marked: list[tuple[float, str]] = []
    ended: list[tuple[str, float, str, str]] = []
    answers: list[Any] = []
    for change in order_changes:
        if isinstance(change, AddOrders):
            existing = []
            for record, text in zip(change.records, change.commands, strict=True):
                order_id = record.order.id
                existing.append(known.get(order_id))
                if existing[-1] is None:
                    known[order_id] = record
                    texts[order_id] = text
            answers.append(existing)
        elif isinstance(change, MarkSent):
            found = known.get(change.order_id)
            to_send = found is not None and found.state is OrderState.QUEUED and change.at < found.order.deadline
            if found is not None and to_send:
                known[change.order_id] = msgspec.structs.replace(found, state=OrderState.SENT, sent_at=change.at)
                marked.append((change.at, change.order_id))
            answers.append(to_send)
        else:
            found = known.get(change.order_id)
            if found is not None and found.ended_at is None:
                known[change.order_id] = msgspec.structs.replace(
                    found, state=change.state, ended_at=change.at, problem=change.problem
                )
            # The statement is also executed for unknown orders. It skips orders that have ended.
            ended.append((str(change.state), change.at, change.problem, change.order_id))
            answers.append(None)
    tx.write(_INSERT, _COLUMNS, [order_to_row(known[order_id], text) for order_id, text in texts.items()])
    tx.write(_MARK, ["at", "of_id"], [row for row in marked if row[1] not in texts])
    end_orders(tx, [row for row in ended if row[3] not in texts])
    return answers


def end_orders(tx: Transaction, rows: Sequence[tuple[str, float, str, str]]) -> None:
    """End orders that have not ended. A row has the final state, the time, the problem and the id of the order."""
    tx.write(_END, ["end", "at", "words", "of_id"], rows)


def _ids_to_know(order_changes: Iterable[OrderChange]) -> set[str]:
    ids: set[str] = set()
    for change in order_changes:
        if isinstance(change, AddOrders):
            if not change.are_new:
                ids.update([record.order.id for record in change.records])
        elif isinstance(change, MarkSent) and NUL not in change.order_id:
            ids.add(change.order_id)
    return ids


class Unit(msgspec.Struct, eq=False):
    """The write of one caller, and the future for its answer.

    Reports and changes of orders are data, so they can be merged. All other work is a callable.
    """

    future: asyncio.Future[Any]
    work: Callable[[Transaction], Any] | None
    reports: Sequence[Report] = ()
    change: OrderChange | None = None
    fences: Sequence[Fence] = ()
    lock: WriteLock = WriteLock.SHARED
    seconds: float = inf
    expires_at: float = inf
    """The time, on the clock of the event loop, at which the write fails if it has no answer yet."""
    result: Any = None
    error: Exception | None = None
    alone: bool = False
    """Whether the work must be done separately, because shared work of its batch has failed."""

    def answer(self) -> None:
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)

    def prepare_again(self) -> None:
        """Prepare the write for a second run of its batch. The second run also searches the store for the ids of new orders."""
        self.error = None
        if isinstance(self.change, AddOrders):
            self.change = msgspec.structs.replace(self.change, are_new=False)


def expire_units(units: Iterable[Unit], now: float) -> float:
    """Let each write fail whose time limit has passed. Return the time when the next write expires (inf if none is left)."""
    later = inf
    for unit in units:
        if unit.expires_at > now:
            later = min(later, unit.expires_at)
        else:
            expire(unit.future, unit.seconds)
    return later


QUIET, LONGEST = 0.002, 0.005
"""A group of writes is complete at the latest when no write came for `QUIET` seconds or the group is `LONGEST` seconds old."""


class WriteQueue:
    """The queue of writes. Callers on the event loop's thread add writes, and the writer thread takes them in groups.

    Waking a thread takes CPU time. So the writer thread is woken when a group is complete, and not at its first write.
    """

    def __init__(self, most: int) -> None:
        """`most` is the largest number of writes that the writer thread takes at once. Call this on the event loop's thread."""
        self._most = most
        self._loop = asyncio.get_running_loop()
        self._arrived = threading.Condition()
        self._pending: deque[Unit] = deque()
        self._wanted = inf
        """The number of writes for which the writer thread waits. It is infinite while the thread does not wait."""
        self._expected, self._woken = 1, False
        self._timer: asyncio.TimerHandle | None = None
        self.closed = False

    def put(self, unit: Unit) -> None:
        """Add a write to the queue. Raises RuntimeError if the queue is closed. Call this on the event loop's thread."""
        if self.closed:
            raise RuntimeError("the store is stopped")
        self._pending.append(unit)
        number = len(self._pending)
        if number >= self._wanted:
            self._wanted = inf  # The next writes need no lock.
            # Not now: the loop's thread keeps the interpreter until all ready callbacks have run.
            self._loop.call_soon(self._notify)
        elif number == 1:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_later(QUIET, self._end_group, 1, self._loop.time() + LONGEST)

    def _end_group(self, seen: int, until: float) -> None:
        """Wake the waiting writer thread if the group is complete. The group had `seen` writes `QUIET` seconds ago."""
        number = len(self._pending)
        if number > seen and self._loop.time() < until:
            self._timer = self._loop.call_later(QUIET, self._end_group, number, until)
        elif number and self._wanted < inf:
            self._wanted = inf
            self._notify()

    def _notify(self) -> None:
        with self._arrived:
            self._arrived.notify()

    def wake(self) -> None:
        """Let `take` return now, even if the queue is empty. Can be called on any thread."""
        self._woken = True
        self._notify()

    def end_wake(self) -> bool:
        """Return whether `wake` was called, and forget the call. If `take` returns an empty list, it also forgets the call."""
        with self._arrived:
            woken, self._woken = self._woken, False
            return woken

    def close(self) -> None:
        self.closed = True
        self._notify()

    def expect(self, number: int) -> None:
        """Let `take` wait a short time until `number` more callers have queued a write.

        Call this directly before `number` callers get their answers, because they may write again at once. Then `take` returns
        their writes and the waiting writes as one group. Otherwise the callers would form two groups that alternate.
        """
        self._expected = number + len(self._pending)

    def take(self, seconds: float) -> list[Unit]:
        """Remove and return the queued writes. If no write comes for this number of seconds, return an empty list.

        If the last group had several callers, wait a short time, so that as many callers can add their next writes. Without
        this wait, commits on a fast disk are so short that callers rarely share a commit. In a measurement, it was slower to
        wait for only half of the callers. The reason: the writer thread and the event loop's thread then compete for the
        interpreter.
        """
        with self._arrived:
            wanted = self._wanted = min(self._expected, self._most)
            if not self._pending and not self.closed and not self._woken:
                self._arrived.wait(seconds)
            if self._wanted < inf:  # Neither `put` nor `_end_group` found the group complete.
                self._wait_for_more(wanted)
            self._wanted = inf
            if not self._pending:
                self._woken, self._expected = False, 1
                return []
            return [self._pending.popleft() for _ in range(min(len(self._pending), self._most))]

    def _wait_for_more(self, wanted: float) -> None:
        """If the queue has writes, wait until they are a complete group: `wanted` writes, or no more writes come."""
        deadline, seen = time.monotonic() + LONGEST, 0
        while seen < len(self._pending) < wanted and not self.closed and time.monotonic() < deadline:
            seen = len(self._pending)
            self._arrived.wait(QUIET)


def can_succeed_later(error: Exception, units: Sequence[Unit], database: Database) -> bool:
    """Whether a batch that failed with this error can succeed in a second run (see `Unit.prepare_again`)."""
    if isinstance(error, IntegrityError):
        return any(isinstance(unit.change, AddOrders) and unit.change.are_new for unit in units)  # An id may be in use.
    return isinstance(error, SharedWorkFailed) or database.is_undone(error)


class Batch:
    """The writes of several callers, in the order in which they came.

    A write that fails does not affect the other callers, except those whose orders and reports were merged with it.
    """

    def __init__(self, units: list[Unit], recorder: Recorder) -> None:
        self._units = units
        self._recorder = recorder

    def run(self, tx: Transaction) -> None:
        """Run all writes. Raises SharedWorkFailed if the batch must be run again."""
        groups = [list(units) for _, units in groupby(self._units, key=_group_of)]
        for units in groups:
            run = self._merge if units[0].work is None else self._run_units
            run(tx, units, guarded=len(groups) > 1)

    def _merge(self, tx: Transaction, units: list[Unit], *, guarded: bool) -> None:
        calls: list[Prepared] = []
        if fenced := [unit for unit in units if unit.fences]:
            refuse_fenced(tx.connection, fenced)
        for unit in units:
            if unit.reports and unit.error is None:
                try:
                    calls.append(prepare(unit.reports))
                except Exception as error:
                    unit.error = error
        valid = [unit for unit in units if unit.error is None]
        if not valid:
            return

        def write() -> None:
            if ordering := [(unit, unit.change) for unit in valid if unit.change is not None]:
                answers = change_orders(tx, [change for _, change in ordering])
                for (unit, _), answer in zip(ordering, answers, strict=True):
                    unit.result = answer
            if calls:
                self._recorder.record(tx, calls)

        tx.writes_late = not guarded
        failed = self._recorder.attempt(tx, write, guarded=guarded)
        for unit in valid:
            unit.error = failed

    def _run_units(self, tx: Transaction, units: list[Unit], *, guarded: bool) -> None:
        """Do the work of one caller, or the work that several callers share. If `guarded` is true, use a savepoint."""
        before = len(tx.events)
        if units[0].fences:
            refuse_fenced(tx.connection, units)
            if units[0].error is not None:
                return

        def run() -> None:
            for unit, result in zip(units, do_together(tx, [unit.work for unit in units]), strict=True):
                unit.result = result

        error = self._recorder.attempt(tx, run, guarded=guarded)
        self._recorder.forget_after(tx.events[before:])
        if len(units) == 1:
            units[0].error = error
        elif error is not None:
            for unit in self._units:
                unit.alone = True
            raise SharedWorkFailed from error


def _group_of(unit: Unit) -> object:
    """Return a key that is equal for writes that can be merged."""
    if unit.work is None:
        return None
    return unit if unit.alone else find_function(unit.work) or unit
