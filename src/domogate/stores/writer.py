"""The writer thread and group commit: writes of concurrent callers share one transaction and one commit.

Callers queue their writes on the event loop's thread. The writer takes all queued writes, runs them and commits once. Then, on
the loop's thread, it passes the changes to the listeners. After that, it passes the answers to the callers.

A member of a cluster commits reports and orders while other gateways commit too. After such a commit, changes of another
gateway with lower cursors can still appear. So the changes of this commit wait until the feed delivers all changes in order.
While they wait, the writer commits the next writes (Decision 0086).
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from functools import partial
from math import inf
from typing import Any

from sqlalchemy import Connection

from domogate.common.log import get_logger
from domogate.domain.events import Change, PlantChanged, StateChanged
from domogate.domain.states import Report
from domogate.ports import Clock, Listener, StoreNotWritable, StoreTimeout
from domogate.stores import writer_limits as limit
from domogate.stores.batch import Batch, OrderChange, Unit, WriteQueue, can_succeed_later, expire_units
from domogate.stores.cursors import TransactionStart
from domogate.stores.direct import time_limit
from domogate.stores.engine import Database, Transaction, WriterConnection
from domogate.stores.feed import Feed, FeedPage
from domogate.stores.fencing import Fence
from domogate.stores.presence import HEARTBEAT, Presence
from domogate.stores.readers import GRACE
from domogate.stores.recorder import Recorder
from domogate.stores.write_lock import WriteLock

_log = get_logger(__name__)


class Writer:
    """Runs the writer thread, and owns its connection and the feed. Call `submit` on the event loop's thread."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        *,
        commit: Callable[..., None],
        on_commit: Callable[[], None],
        explain: Callable[[Exception], Exception],
        listeners: Sequence[tuple[Listener, bool]],
        presence: Presence | None,
        limits: limit.WriterLimits,
    ) -> None:
        self._database = database
        self._clock = clock
        self._commit = commit
        self._on_commit = on_commit
        self._explain = explain
        self._listeners = listeners
        self._presence = presence
        self._limits = limits
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._feed, self._recorder = Feed(database), Recorder(database)
        self._connection = WriterConnection(database, self._recorder.forget)
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="domogate-store-writer", daemon=True)
        self._queue = WriteQueue(limits.max_batch)
        self._applied_foreign = False
        self._unanswered: set[Unit] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = inf
        # Only the writer thread uses these values.
        self._announced = 0.0
        self._waiting: deque[tuple[int, Sequence[Unit]]] = deque()
        """Committed writes whose changes are not delivered yet, each with the cursor of its last change."""
        self._pause = limit.SHORTEST_PAUSE
        self.is_reachable = True
        """Whether the database answered when the writer last began a transaction or read the feed."""
        self.written = 0
        """The cursor of the last change that this process has committed."""
        self.applied = 0
        """The cursor of the last change that the listeners have applied. It is set on the loop's thread."""

    # Runs on the loop's thread.

    def open(self) -> None:
        """Begin at the newest change of the feed: listeners get all later changes. Call this before `start`, on any thread."""
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
        lock: WriteLock = WriteLock.EXCLUSIVE,
    ) -> asyncio.Future[Any]:
        """Queue a write and return a future with its answer.

        After `seconds` seconds without an answer, the future raises StoreTimeout. The write may still be executed later. If
        `seconds` is None, the time is `WriterLimits.deadline`, and at least REPORT_SECONDS for a write that has only reports.
        """
        if seconds is None:
            seconds = self._limits.deadline if work or change else max(limit.REPORT_SECONDS, self._limits.deadline)
        future: asyncio.Future[Any] = self._loop.create_future()
        unit = Unit(future, work, reports, change, fences, lock, seconds, self._loop.time() + seconds + GRACE)
        self._queue.put(unit)
        self._unanswered.add(unit)
        if unit.expires_at < self._timer_at:
            self._set_timer(unit.expires_at)
        return future

    def _set_timer(self, at: float) -> None:
        """Set the timer to `at`: the earliest time at which a waiting write expires. A timer for each write would be slow."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = at
        self._timer = None if at == inf else self._loop.call_at(at, self._expire)

    def _expire(self) -> None:
        self._set_timer(expire_units(self._unanswered, self._loop.time()))

    def poll_now(self) -> None:
        """Read the feed now, because another process has committed changes. Can be called on any thread."""
        self._queue.wake()

    @property
    def known_at(self) -> float:
        """Return a time (monotonic): all changes that were committed before it were passed to the listeners."""
        return self._feed.known_at

    async def stop(self) -> bool:
        """Refuse new writes and execute the queued writes. Returns False if the database did not answer in time."""
        self._queue.close()
        await asyncio.wait((self._ended,), timeout=self._limits.deadline + limit.LEAVE_SECONDS)
        if self._ended.done():
            self._thread.join()
            self._set_timer(inf)
        return self._ended.done()

    def _deliver(self, page: FeedPage, answered: Sequence[Unit], are_new: bool = False) -> None:
        """Pass the changes to the listeners, and answer the callers. `are_new`: whether this process made the changes."""
        if changes := page.changes:
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
        self._unanswered.difference_update(answered)
        if are_new:
            self._on_commit()
        if page.foreign and not self._applied_foreign:
            self._applied_foreign = True
            self._queue.wake()

    # Runs on the writer thread.

    def _run(self) -> None:
        while True:
            batch = self._queue.take(pause := self._choose_pause())
            if batch:
                self._write(batch)
            elif self._queue.closed and not (self._waiting and self.is_reachable):
                break
            # The feed is also read while writes follow each other without a pause.
            if not batch or self._queue.end_wake() or time.monotonic() - self._feed.polled_at >= pause:
                self._poll_feed()
            if self._presence is not None and self._is_announcing_due():
                self._attempt(self._announce)
        for _, units in self._waiting:
            self._fail(units, StoreTimeout("the store was stopped before all changes were read"))
        if self.is_reachable:
            self._attempt(self._leave)
        else:
            self._connection.close()
        self._call(self._ended.set_result, None)

    def _choose_pause(self) -> float:
        self._pause = min(2 * self._pause, limit.LONGEST_PAUSE)
        return self._pause if self._waiting else self._limits.poll

    def _is_announcing_due(self) -> bool:
        since = time.monotonic() - self._announced
        return since > HEARTBEAT or (self._applied_foreign and (not self._database.is_shared or since > limit.ANNOUNCE_SECONDS))

    def _write(self, batch: list[Unit]) -> None:
        try:
            seconds = max([unit.seconds for unit in batch])
            with time_limit(seconds):
                try:
                    self._write_batch(batch, seconds)
                except Exception as error:
                    if not can_succeed_later(error, batch, self._database):
                        raise
                    _log.warning("a transaction failed; it is tried again", reason=str(error.__cause__ or error))
                    self._connection.close()
                    for unit in batch:
                        unit.prepare_again()
                    self._write_batch(batch, seconds)
        except Exception as error:
            # The commit failed or the transaction was lost: the result of every write of the batch is uncertain.
            self._connection.close()
            self._fail(batch, error)

    def _write_batch(self, batch: list[Unit], seconds: float) -> None:
        locks = {unit.lock for unit in batch}
        is_exclusive = WriteLock.EXCLUSIVE in locks
        shared = self._database.is_shared and not is_exclusive
        connection, start = self._begin_for(batch, locks, long=seconds > limit.LONG_SECONDS)
        if shared:
            self._recorder.begin_shared(start.structure, {fence for unit in batch for fence in unit.fences})
        else:
            if not start.newest <= self._feed.delivered <= start.position:
                self._hand_over(self._feed.read_missing(connection, start))
            # No change can appear before this transaction, because it has the exclusive lock.
            self._feed.delivered = start.position
            self._recorder.structure = start.structure
        # Writes whose callers have given up are not executed.
        wanted = [unit for unit in batch if not unit.future.done()]
        tx = Transaction(self._database, connection, self._clock.now(), start.position)
        Batch(wanted, self._recorder).run(tx)
        failed = [(unit, unit.error) for unit in wanted if unit.error is not None]
        for unit, error in failed:
            if can_succeed_later(error, wanted, self._database):
                raise error
            unit.error = self._explain(error)
        if len(failed) == len(wanted):
            self._database.roll_back(connection)
            self._answer(batch)
            return
        own = tx.write_changes(exclusive=not shared)
        if is_exclusive and any(type(change.event) in (PlantChanged, StateChanged) for change in own):
            self._database.note_structure(connection, start.position)
            self._recorder.structure = start.position
        self._commit(connection, tx.last_writes, has_written=bool(own))
        self.written = own[-1].cursor if own else self.written
        if not shared:
            self._feed.delivered = own[-1].cursor if own else start.position
            self._answer(batch, own)
        elif own:
            self._feed.keep(own)
            self._waiting.append((self.written, batch))
            self._pause = limit.SHORTEST_PAUSE
            self._call(self._on_commit)
            self._poll_feed()
        else:
            # The callers wait for no change. The position in the feed stays, because earlier changes can still appear.
            self._answer(batch)

    def _fail(self, units: Sequence[Unit], error: Exception) -> None:
        explained = self._explain(error)
        for unit in units:
            unit.error = unit.error or explained
        self._answer(units)

    def _answer(self, units: Sequence[Unit], own: Sequence[Change] = ()) -> None:
        self._queue.expect(len(units))
        self._call(self._deliver, FeedPage(own, ()), units, bool(own))

    def _begin_for(self, batch: list[Unit], locks: Collection[WriteLock], *, long: bool) -> tuple[Connection, TransactionStart]:
        """Begin a transaction. While another process holds the lock of the database and a caller still waits, try again."""
        while True:
            try:
                begun = self._connection.begin(locks, long=long)
                self.is_reachable = True
                return begun
            except Exception as error:
                is_busy = self._database.is_busy(error)
                self.is_reachable = is_busy or isinstance(self._database.explain(error), StoreNotWritable)  # Decision 0133
                if not is_busy or all(unit.future.done() for unit in batch):
                    raise
                self._connection.close()
                self._poll_feed()

    def _poll_feed(self) -> None:
        more = True
        while more:
            try:
                with time_limit(min(limit.POLL_SECONDS, self._limits.deadline)):
                    page = self._feed.poll()
            except Exception as error:
                self._explain(error)
                if self.is_reachable:
                    _log.exception("cannot read the database; retrying", every=self._limits.poll)
                self.is_reachable = False
                self._attempt(self._feed.close)
                return
            self.is_reachable = True
            self._hand_over(page)
            more = page.more

    def _hand_over(self, page: FeedPage) -> None:
        """Pass the changes to the listeners, and answer the callers whose changes the listeners got."""
        self._recorder.forget_after([change.event for change in page.foreign])
        answered: list[Unit] = []
        while self._waiting and self._waiting[0][0] <= self._feed.delivered:
            answered += self._waiting.popleft()[1]
        self._queue.expect(len(answered))
        if page.changes or answered:
            self._call(self._deliver, page, answered)

    def _announce(self) -> None:
        self._applied_foreign = False
        self._announced = time.monotonic()
        if self._presence is not None:
            self._write_without_change(partial(self._presence.announce, applied=self.applied))

    def _leave(self) -> None:
        try:
            if self._presence is not None:
                self._write_without_change(self._presence.leave)
        finally:
            self._connection.close()
            self._feed.close()

    def _write_without_change(self, work: Callable[[Connection], None]) -> None:
        """Commit a write that adds nothing to the change feed, so the listeners get nothing."""
        with time_limit(min(limit.LEAVE_SECONDS, self._limits.deadline)), self._connection.use() as connection:
            work(connection)
            self._commit(connection)

    def _call(self, call: Callable[..., None], *args: Any) -> None:
        """Run `call` on the event loop's thread."""
        try:
            self._loop.call_soon_threadsafe(call, *args)
        except RuntimeError:  # The loop is closed, so no caller waits any more.
            _log.warning("the event loop ended before the store was stopped")

    def _attempt(self, action: Callable[[], None]) -> None:
        """Run the action. An exception is logged, so that it does not end the thread."""
        try:
            action()
        except Exception as error:
            if self._database.is_busy(error):
                self._announced = -inf  # Another process has the lock. The heartbeat is tried again soon.
            else:
                _log.error("a maintenance task of the store failed", exc_info=self._explain(error))
