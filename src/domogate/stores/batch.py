"""What a batch is made of, and how its parts share a transaction without sharing their failures."""

import asyncio
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from domogate.domain.states import Report
from domogate.stores.states import Prepared, Recorder, prepare
from domogate.stores.transaction import Transaction


class Unit:
    """A caller's write and where to answer it; general work is a callable, reports are data that can be merged."""

    __slots__ = ("error", "future", "reports", "result", "work")

    def __init__(
        self, future: asyncio.Future[Any], work: Callable[[Transaction], Any] | None, reports: Sequence[Report] = ()
    ) -> None:
        self.future = future
        self.work = work
        self.reports = reports
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
    """The writes of several callers, in the order they came; reports that follow each other become one write."""

    def __init__(self, units: list[Unit], recorder: Recorder) -> None:
        self._units = units
        self._recorder = recorder

    def run(self, tx: Transaction) -> None:
        recordings_only = all(unit.work is None for unit in self._units)
        for recordings, units in groupby(self._units, key=lambda unit: unit.work is None):
            if recordings:
                self._record(tx, list(units), guarded=not recordings_only)
            else:
                for unit in units:
                    self._run_unit(tx, unit, guarded=len(self._units) > 1)

    def _record(self, tx: Transaction, units: list[Unit], *, guarded: bool) -> None:
        calls: list[Prepared] = []
        sound = []
        for unit in units:
            try:
                calls.append(prepare(unit.reports))
                sound.append(unit)
            except Exception as error:
                unit.error = error
        if not sound:
            return
        failed = self._guard(tx, lambda: self._recorder.record(tx, calls), guarded=guarded)
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
