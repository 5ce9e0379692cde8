"""One listener's stream: what it missed, then what is new, each piece only as long as its rights hold (Decision 0044)."""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from itertools import islice

import structlog

from domogate.domain.events import Change
from domogate.domain.ids import Id
from domogate.domain.notices import Notice
from domogate.services.events.endings import DRAINING, INTERRUPTED, PLANT_LOST, SLOW, End, Ended
from domogate.services.events.filters import EventFilter
from domogate.services.events.frames import (
    HEARTBEAT,
    OPENING,
    TOO_OLD,
    UNKNOWN_CURSOR,
    Reset,
    frame_notice,
    print_end,
    print_present,
    print_ready,
    print_reset,
)
from domogate.services.events.rights import find_notice, may_see
from domogate.services.events.stream_rights import StreamContext, StreamRights, Told
from domogate.services.plants.read_model import PlantView

PAGE = 500
"""Changes read from the store at once by a stream that resumes."""
PRESENT_AT_ONCE = 100
"""Modules printed in one go: the others' requests get their turn in between."""
_LONGEST_TIMER = 86_400.0

_log = structlog.get_logger(__name__)

_CURSOR = re.compile(rb"[0-9]{1,18}", re.ASCII).fullmatch


class Bounds:
    """How much may wait for a listener that does not take it: events, and bytes."""

    def __init__(self, events: int, size: int) -> None:
        self.events = events
        self.size = size


class Stream:
    """Made by the hub, written out by a surface. `pieces` is what to write, one after the other."""

    def __init__(
        self,
        grounds: StreamContext,
        own_pass: StreamRights,
        event_filter: EventFilter,
        last_event_id: bytes | None,
        *,
        bounds: Bounds,
        newest: Callable[[], int],
        on_settled: Callable[["Stream"], None],
        on_closed: Callable[["Stream"], None],
    ) -> None:
        """`newest`: the cursor up to which the hub was given the feed. `on_settled`: its plants may be others now."""
        self._context = grounds
        self.own_pass = own_pass
        self._event_filter = event_filter
        self._last_event_id = last_event_id
        self._bounds = bounds
        self._newest = newest
        self._on_settled = on_settled
        self._on_closed = on_closed
        self._loop = asyncio.get_running_loop()
        self._roused = asyncio.Event()
        self._queue: list[tuple[Notice, bytes]] = []
        self._queued_bytes = 0
        # Nothing is sure before the first look: what changed since the caller was let in is not known.
        self._doubts, self._settled = 1, 0
        self._end: End | None = None
        self._beat = False
        self._position = 0
        self._live_after: int | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.closed = False
        self.told = 0
        """How many events it was given."""
        self.touched = self._loop.time()
        """When something was last written, by the loop's clock."""

    # what the hub tells it; none of it waits

    def hears(self, notice: Notice, scopes: Collection[str]) -> bool:
        return (
            self._live_after is not None
            and notice.cursor > self._live_after
            and self._event_filter.wants(notice.kinds)
            and not self.own_pass.principal.scopes.isdisjoint(scopes)
        )

    def push(self, notice: Notice, piece: bytes) -> None:
        if self._end is not None or self.closed:
            return
        self._queue.append((notice, piece))
        self._queued_bytes += len(piece)
        if len(self._queue) > self._bounds.events or self._queued_bytes > self._bounds.size:
            self.end(SLOW)
        else:
            self._roused.set()

    def doubt(self) -> None:
        """Something its rights rest on changed: nothing more is told before they were asked for again."""
        self._doubts += 1
        self._roused.set()

    def lose(self, plant_id: Id) -> None:
        if plant_id in self.own_pass.plants:
            self.end(PLANT_LOST)

    def end(self, end: End) -> None:
        """Nothing that waits is told any more."""
        self._end = self._end or end
        self._queue.clear()
        self._queued_bytes = 0
        self._roused.set()

    def beat(self) -> None:
        self._beat = True
        self._roused.set()

    def close(self) -> None:
        """The listener is gone, or has heard the end."""
        if self.closed:
            return
        self.closed = True
        self._queue.clear()
        if self._timer is not None:
            self._timer.cancel()
        self._roused.set()
        self._on_closed(self)

    # what is written

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """Ask for the next only when it can be written without waiting: rights were looked at the moment before."""
        try:
            yield OPENING
            await self._settle()
            reset = await self._find_reset()
            if self._last_event_id and reset is None:
                async for piece in self._resume():
                    yield piece
            else:
                if reset is not None:
                    await self._settle()
                    yield print_reset(reset)
                async for piece in self._begin(present=reset is not None or self._event_filter.present):
                    yield piece
            async for piece in self._go_on():
                yield piece
        except Ended as ended:
            if not self.closed:
                yield print_end(ended.end)
        except Exception:
            _log.exception("a stream was interrupted")
            yield print_end(INTERRUPTED)
        finally:
            self.close()

    async def _find_reset(self) -> Reset | None:
        """None: what was missed since `Last-Event-ID` can be told, or nothing was."""
        if not self._last_event_id:
            return None
        if not _CURSOR(self._last_event_id):
            return UNKNOWN_CURSOR
        self._position = int(self._last_event_id)
        oldest, newest = await self._context.store.feed_span()
        if self._position > max(newest, self._newest()):
            return UNKNOWN_CURSOR  # of a gateway whose data was put back to an earlier day
        return TOO_OLD if self._position < oldest - 1 else None

    async def _begin(self, *, present: bool) -> AsyncGenerator[bytes, None]:
        cursor = self._live_after = self._newest()
        if present:
            async for piece in self._tell_present(cursor):
                yield piece
        await self._settle()
        yield print_ready(cursor)

    async def _tell_present(self, cursor: int) -> AsyncGenerator[bytes, None]:
        for plant_id in sorted(self.own_pass.plants):
            plant = await self._look_at(plant_id)
            module_ids = iter(tuple(plant.modules))
            while ids := tuple(islice(module_ids, PRESENT_AT_ONCE)):
                plant = await self._look_at(plant_id)
                piece = print_present(
                    plant,
                    ids,
                    self._event_filter,
                    self.own_pass.principal.scopes,
                    source=self._context.source,
                    cursor=cursor,
                    now=self._context.clock.now(),
                )
                if piece:
                    yield piece

    async def _look_at(self, plant_id: Id) -> PlantView:
        """As it is now, and may be told. Raises Ended."""
        while True:
            plant = self._context.read_model.find_plant(plant_id) or await self._context.read_model.get_plant(plant_id)
            if plant is not None and self._settled == self._doubts:
                await self._settle()
                return plant
            if plant is None:
                raise Ended(PLANT_LOST)
            await self._settle()

    async def _resume(self) -> AsyncGenerator[bytes, None]:
        """All that was missed, and not one event twice: up to the cursor from which the hub tells it the rest."""
        try:
            async for piece in self._replay(None):
                yield piece
            self._live_after = max(self._position, self._newest())
            async for piece in self._replay(self._live_after):
                yield piece
        except _Pruned:
            # What it still had to hear was forgotten under its hands.
            await self._settle()
            yield print_reset(TOO_OLD)
            async for piece in self._begin(present=True):
                yield piece
            return
        await self._settle()
        yield print_ready(self._live_after)

    async def _replay(self, until: int | None) -> AsyncGenerator[bytes, None]:
        """From its position on; without `until` as far as a look at the store shows."""
        while until is None or self._position < until:
            page, more = await self._read_page(until)
            piece = self._join(await self._settle_told(await self._print(page)))
            if piece:
                yield piece
            if page:
                self._position = page[-1].cursor
            if not more:
                break
        if until is not None:
            self._position = until

    async def _read_page(self, until: int | None) -> tuple[Sequence[Change], bool]:
        """Changes of its plants, and whether there are more to read. Raises _Pruned."""
        store = self._context.store
        while True:
            await self._settle()
            settled = self._settled
            found = await store.list_changes_of(self.own_pass.plants, self._position, PAGE)
            oldest, _ = await store.feed_span()  # after the page, so that what was pruned meanwhile is noticed
            # A plant that was gained meanwhile is not in the page, nor would be its beginning.
            if settled == self._doubts:
                break
        if oldest > self._position + 1:
            raise _Pruned
        # What the hub was not given yet may hold such a gain as well: it is read again, or comes from the hub.
        limit = self._newest() if until is None else until
        page = [change for change in found if change.cursor <= limit]
        return page, len(page) == PAGE

    async def _print(self, changes: Sequence[Change]) -> Told:
        told = []
        who = self.own_pass.principal
        for change in changes:
            plant_id = change.event.plant_id  # type: ignore[union-attr]  # only those of plants were read
            plant = self._context.read_model.find_plant(plant_id) or await self._context.read_model.get_plant(plant_id)
            notice = None if plant is None else find_notice(change, plant)
            if plant is None or notice is None or not self._event_filter.wants(notice.kinds):
                continue
            if may_see(who.user_id, who.scopes, plant, notice):
                told.append((notice, frame_notice(notice, plant, self._context.source)))
        return told

    async def _go_on(self) -> AsyncGenerator[bytes, None]:
        while True:
            if not self._queue and not self._beat:
                await self._roused.wait()
            self._roused.clear()
            told, self._queue, self._queued_bytes = self._queue, [], 0
            piece = self._join(await self._settle_told(told))
            if not piece and self._beat:
                piece = HEARTBEAT
            self._beat = False
            if piece:
                self.touched = self._loop.time()
                yield piece

    def _join(self, told: Told) -> bytes:
        self.told += len(told)
        return told[0][1] if len(told) == 1 else b"".join([piece for _, piece in told])

    # rights

    async def _settle_told(self, told: Told) -> Told:
        """What of it may be told at this moment."""
        while self._settled != self._doubts:
            await self._settle()
            told = await self.own_pass.still_told(told)
        await self._settle()
        return told

    async def _settle(self) -> None:
        """Waits only if there are doubts. When it returns, there are none: what is told at once is rightly told."""
        while self._settled != self._doubts:
            doubts = self._doubts
            if self._end is None and not self.closed:
                await self.own_pass.ask_again()
            self._settled = doubts
            if doubts == self._doubts:
                # Not before: what came meanwhile may be a plant that this answer did not know of yet.
                self._arm()
                self._on_settled(self)
        if self._end is not None:
            raise Ended(self._end)
        if self.closed:
            raise Ended(DRAINING)
        self.own_pass.check_time()

    def _arm(self) -> None:
        """Wake up when the token or the key expires."""
        if self._timer is not None:
            self._timer.cancel()
        left = self.own_pass.until - self._context.clock.now()
        if left > 0 and not self.closed:
            self._timer = self._loop.call_later(min(left, _LONGEST_TIMER), self._expire)

    def _expire(self) -> None:
        self._arm()
        self._roused.set()


class _Pruned(Exception):
    """Changes that were still to be told are not kept any more."""
