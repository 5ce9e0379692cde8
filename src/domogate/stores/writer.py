"""The writer thread and group commit: writes of concurrent callers share one transaction and one commit.

Callers queue their writes on the event loop's thread. The writer takes all queued writes, runs them and commits once. Then, on
the loop's thread, it passes the changes to the listeners, and after that the answers to the callers.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import msgspec
import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from domogate.domain.events import Change, StateChanged
from domogate.domain.states import Report
from domogate.ports import Clock, Listener
from domogate.stores.batch import Batch, Feed, OrderChange, Unit
from domogate.stores.engine import Database, Transaction, newest_cursor, time_is_up, time_limit
from domogate.stores.fencing import Fence
from domogate.stores.presence import HEARTBEAT, Presence
from domogate.stores.readers import GRACE, expire
from domogate.stores.recorder import Recorder

QUIET = 0.002
"""In seconds. The writer stops waiting for more callers if none came for this time."""
LONGEST = 0.005
"""In seconds. The writer never waits longer than this for more callers."""

_REPORT_SECONDS = 60.0
"""The seconds in which reports must be written.

No caller waits, and an import of another process may hold the lock for long.
"""
_POLL_SECONDS, _LEAVE_SECONDS = 1.5, 2.0

_log = structlog.get_logger(__name__)


class WriterLimits(msgspec.Struct, frozen=True):
    """Times of the writer. `poll`: the seconds between two reads of the feed.

    `deadline`: the seconds for a write that does not declare a longer time.
    """

    poll: float
    max_batch: int
    deadline: float


class Writer:
    """Owns the thread, its connection and the feed. Call `submit` on the event loop's thread."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        *,
        commit: Callable[[Connection], None],
        explain: Callable[[Exception], Exception],
        listeners: Sequence[tuple[Listener, bool]],
        presence: Presence | None,
        limits: WriterLimits,
    ) -> None:
        self._database = database
        self._clock = clock
        self._commit = commit
        self._explain = explain
        self._listeners = listeners
        self._presence = presence
        self._limits = limits
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._feed = Feed(database)
        self._recorder = Recorder(database)
        self._connection: Connection | None = None
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="domogate-store-writer", daemon=True)
        # Both threads use these values, and change them under the lock of `_arrived`.
        self._arrived = threading.Condition()
        self._pending: deque[Unit] = deque()
        self._wanted = 1
        self._closing = False
        self._applied_foreign = False
        # Only the writer thread uses these values.
        self._expected = 1
        self._announced = 0.0
        self.is_reachable = True
        """Whether the last transaction or poll could begin."""
        self.written = 0
        """The cursor of the last change of this process."""
        self.applied = 0
        """The cursor that the listeners have applied. It is set on the loop's thread."""

    # Runs on the loop's thread.

    def open(self) -> None:
        """Find the position in the feed; from now on no change is missed. Must be called before `start`, on any thread."""
        self._feed.start()
        self.applied = self._feed.delivered
        self._announce()

    def start(self) -> None:
        self._thread.start()

    def submit(
        self,
        work: Callable[[Transaction], Any] | None = None,
        reports: Sequence[Report] = (),
        change: OrderChange | None = None,
        seconds: float | None = None,
        fences: Sequence[Fence] = (),
    ) -> asyncio.Future[Any]:
        """Queue a write and return a future with its answer.

        The future raises StoreTimeout if there is no answer after this number of seconds; the write may be executed later.
        """
        future: asyncio.Future[Any] = self._loop.create_future()
        unit = Unit(future, work, reports, change, fences)
        if seconds is not None:
            unit.seconds = seconds
        elif work is None and change is None:
            unit.seconds = max(_REPORT_SECONDS, self._limits.deadline)
        else:
            unit.seconds = self._limits.deadline
        unit.timer = self._loop.call_later(unit.seconds + GRACE, expire, future, unit.seconds)
        with self._arrived:
            if self._closing:
                unit.timer.cancel()
                raise RuntimeError("the store is stopped")
            self._pending.append(unit)
            if len(self._pending) >= self._wanted:
                self._arrived.notify()
        return future

    async def stop(self) -> bool:
        """Refuse new writes and execute the queued writes. Returns False if the database did not answer in time."""
        with self._arrived:
            self._closing = True
            self._arrived.notify()
        await asyncio.wait((self._ended,), timeout=self._limits.deadline + _LEAVE_SECONDS)
        if self._ended.done():
            self._thread.join()
        return self._ended.done()

    def _deliver(self, changes: Sequence[Change], foreign: bool, answered: Sequence[Unit]) -> None:
        if changes:
            without_states = [change for change in changes if type(change.event) is not StateChanged]
            for listener, wants_states in self._listeners:
                try:
                    if wants_states or without_states:
                        listener(changes if wants_states else without_states)
                except Exception:
                    _log.exception("a listener failed", first=changes[0].cursor, last=changes[-1].cursor)
            self.applied = changes[-1].cursor
        for unit in answered:
            unit.answer()
        if foreign:
            with self._arrived:
                self._applied_foreign = True
                self._arrived.notify()

    # Runs on the writer thread.

    def _run(self) -> None:
        while True:
            batch = self._gather()
            if batch:
                self._write(batch)
            elif self._closing:
                break
            else:
                self._poll_feed()
            if self._presence is not None and (self._applied_foreign or time.monotonic() - self._announced > HEARTBEAT):
                self._attempt(self._announce)
        if self.is_reachable:
            self._attempt(self._leave)
        else:
            self._disconnect()
        with suppress(RuntimeError):  # The loop is closed.
            self._loop.call_soon_threadsafe(self._ended.set_result, None)

    def _gather(self) -> list[Unit]:
        """Take the queued writes. If the last batch had several callers, wait a short time until the same number has come
        again.

        Without the wait, commits on a fast disk are so short that callers rarely share one (PostgreSQL has commit_delay and
        commit_siblings for this). A single caller does not wait. Waiting for only half of the callers was slower when measured,
        because the two threads then compete for the interpreter.
        """
        with self._arrived:
            if not self._pending and not self._closing and not self._applied_foreign:
                self._arrived.wait(self._limits.poll)
            if not self._pending:
                self._expected = 1
                return []
            self._wanted = min(self._expected, self._limits.max_batch)
            deadline = time.monotonic() + LONGEST
            seen = 0
            while seen < len(self._pending) < self._wanted and not self._closing and time.monotonic() < deadline:
                seen = len(self._pending)
                self._arrived.wait(QUIET)
            self._wanted = 1
            return [self._pending.popleft() for _ in range(min(len(self._pending), self._limits.max_batch))]

    def _write(self, batch: list[Unit]) -> None:
        changes: list[Change] = []
        foreign = False
        try:
            with time_limit(max(unit.seconds for unit in batch)):
                connection, newest = self._begin_for(batch)
                changes += self._feed.read_missing(connection, newest)
                foreign = bool(changes)
                self._recorder.forget_after([change.event for change in changes])
                # Writes whose callers have given up are not executed.
                batch = [unit for unit in batch if not unit.future.done()]
                tx = Transaction(self._database, connection, self._clock.now())
                Batch(batch, self._recorder).run(tx)
                if all(unit.error is not None for unit in batch):
                    connection.rollback()
                else:
                    own = tx.write_changes(newest)
                    self._commit(connection)
                    self._feed.advance(own)
                    changes += own
                    self.written = own[-1].cursor if own else self.written
        except Exception as error:
            # The commit failed or the transaction was lost: the result of every write of the batch is uncertain.
            for unit in batch:
                unit.error = unit.error or error
            self._disconnect()
        for unit in batch:
            if unit.error is not None:
                unit.error = self._explain(unit.error)
        # Callers that came in the meantime count too, so two alternating groups become one.
        self._expected = len(batch) + len(self._pending)
        self._hand_over(changes, foreign, batch)

    def _begin_for(self, batch: list[Unit]) -> tuple[Connection, int]:
        """Begin a transaction. Another process may hold the lock for a long time, for example during an import.

        So the writer tries again while a caller waits.
        """
        while True:
            try:
                begun = self._begin()
            except Exception as error:
                self.is_reachable = self._database.is_busy(error)
                if not self.is_reachable or all(unit.future.done() for unit in batch):
                    raise
                self._disconnect()
            else:
                self.is_reachable = True
                return begun

    def _begin(self) -> tuple[Connection, int]:
        """Begin a write transaction and return the newest cursor.

        If the connection was lost while it was idle, it is replaced.
        """
        connection = self._connect()
        try:
            self._database.lock(connection)
            return connection, newest_cursor(connection)
        except DBAPIError as error:
            if not error.connection_invalidated or time_is_up():
                raise
        self._disconnect()
        connection = self._connect()
        self._database.lock(connection)
        return connection, newest_cursor(connection)

    def _connect(self) -> Connection:
        if self._connection is None:
            self._connection = self._database.writing.connect()
            self._database.prepare_writer(self._connection)
        return self._connection

    def _poll_feed(self) -> None:
        try:
            with time_limit(min(_POLL_SECONDS, self._limits.deadline)):
                changes = self._feed.poll()
        except Exception as error:
            self._explain(error)
            if self.is_reachable:
                _log.exception("cannot read the database; retrying", every=self._limits.poll)
            self.is_reachable = False
            self._attempt(self._feed.close)
            return
        self.is_reachable = True
        if changes:
            self._recorder.forget_after([change.event for change in changes])
            self._hand_over(changes, True, ())

    def _announce(self) -> None:
        self._applied_foreign = False
        self._announced = time.monotonic()
        presence = self._presence
        if presence is not None:
            self._write_without_change(lambda connection: presence.announce(connection, self.applied))

    def _leave(self) -> None:
        presence = self._presence
        try:
            if presence is not None:
                self._write_without_change(presence.leave)
        finally:
            self._disconnect()
            self._feed.close()

    def _write_without_change(self, work: Callable[[Connection], None]) -> None:
        """Commit a write that is not a change. The listeners do not get it."""
        try:
            with time_limit(min(_LEAVE_SECONDS, self._limits.deadline)):
                connection = self._connect()
                work(connection)
                self._commit(connection)
        except Exception:
            self._disconnect()
            raise

    def _disconnect(self) -> None:
        self._recorder.forget()
        connection, self._connection = self._connection, None
        if connection is not None:
            self._attempt(connection.close)

    def _hand_over(self, changes: Sequence[Change], foreign: bool, answered: Sequence[Unit]) -> None:
        try:
            self._loop.call_soon_threadsafe(self._deliver, changes, foreign, answered)
        except RuntimeError:  # The loop is closed, so no caller waits any more.
            _log.warning("the event loop ended before the store was stopped")

    @staticmethod
    def _attempt(action: Callable[[], None]) -> None:
        """Run the action. An exception is logged, so that it does not end the thread."""
        try:
            action()
        except Exception:
            _log.exception("a maintenance task of the store failed")
