"""What a batch is made of, and how its parts share a transaction without sharing their failures."""

import asyncio
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from domogate.domain.states import Report
from domogate.stores.orders import OrderChange, change_orders
from domogate.stores.states import Prepared, Recorder, prepare
from domogate.stores.transaction import Transaction


class Unit:
    """A caller's write and where to answer it; general work is a callable, reports and orders are data that can be merged."""

    __slots__ = ("change", "error", "future", "reports", "result", "work")

    def __init__(
        self,
        future: asyncio.Future[Any],
        work: Callable[[Transaction], Any] | None,
        reports: Sequence[Report] = (),
        change: OrderChange | None = None,
    ) -> None:
        self.future = future
        self.work = work
        self.reports = reports
        self.change = change
        self.result: Any = None
        self.error: Exception | None = None

    def answer(self) -> None:
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class Batch:
    """The writes of several callers, in the order they came; reports and orders that follow each other become one write."""

    def __init__(self, units: list[Unit], recorder: Recorder) -> None:
        self._units = units
        self._recorder = recorder

    def run(self, tx: Transaction) -> None:
        data_only = all(unit.work is None for unit in self._units)
        for is_data, units in groupby(self._units, key=lambda unit: unit.work is None):
            if is_data:
                self._merge(tx, list(units), guarded=not data_only)
            else:
                for unit in units:
                    self._run_unit(tx, unit, guarded=len(self._units) > 1)

    def _merge(self, tx: Transaction, units: list[Unit], *, guarded: bool) -> None:
        calls: list[Prepared] = []
        sound = []
        for unit in units:
            try:
                if unit.reports:
                    calls.append(prepare(unit.reports))
                sound.append(unit)
            except Exception as error:
                unit.error = error
        if not sound:
            return

        def write() -> None:
            ordering = [unit for unit in sound if unit.change is not None]
            if ordering:
                answers = change_orders(tx, [unit.change for unit in ordering if unit.change is not None])
                for unit, answer in zip(ordering, answers, strict=True):
                    unit.result = answer
            if calls:
                self._recorder.record(tx, calls)

        failed = self._guard(tx, write, guarded=guarded)
        for unit in sound:
            unit.error = failed

    def _run_unit(self, tx: Transaction, unit: Unit, *, guarded: bool) -> None:
        work = unit.work
        assert work is not None
        before = len(tx.events)

        def run() -> None:
            unit.result = work(tx)

        unit.error = self._guard(tx, run, guarded=guarded)
        self._recorder.forget_after(tx.events[before:])

    def _guard(self, tx: Transaction, run: Callable[[], None], *, guarded: bool) -> Exception | None:
        """In a savepoint unless it has the transaction to itself, so that one caller's failure is not everybody's."""
        before = len(tx.events)
        savepoint = tx.connection.begin_nested() if guarded else None
        try:
            run()
        except Exception as error:
            del tx.events[before:]
            self._recorder.forget()
            if savepoint is not None:
                try:
                    savepoint.rollback()
                except Exception:  # the database gave up the whole transaction, as SQLite does when the disk is full
                    raise error from None
            return error
        if savepoint is not None:
            savepoint.commit()
        return None
