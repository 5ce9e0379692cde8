"""One event stream: first the missed events, then new events.

If its rights may have changed, they are checked before the next event (Decision 0044).
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from itertools import islice

from domogate.common.log import get_logger
from domogate.domain.events import Change, PlantChanged, StateChanged
from domogate.domain.faults import NoSuchPlant, NotYourPlant
from domogate.domain.ids import Id
from domogate.services.events.endings import DRAINING, INTERRUPTED, PLANT_LOST, End, Ended
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
from domogate.services.events.live_events import LiveEvents, join
from domogate.services.events.notices import find_notice
from domogate.services.events.queue import EventWriter, QueueLimits
from domogate.services.events.stream_rights import FramedNotices, StreamContext, StreamRights
from domogate.services.rights.access import Access

PAGE = 500
"""The number of changes that a resuming stream reads from the store in one query."""
PRESENT_AT_ONCE = 100
"""The number of modules whose present states are encoded in one group. After each group, other requests can run."""
_LONGEST_TIMER = 86_400.0

_log = get_logger(__name__)

_CURSOR = re.compile(rb"[0-9]{1,18}", re.ASCII).fullmatch


class Stream(LiveEvents):
    """An event stream. The hub makes it, and a surface writes the bytes that `frames` yields."""

    def __init__(
        self,
        context: StreamContext,
        rights: StreamRights,
        event_filter: EventFilter,
        last_event_id: bytes | None,
        *,
        limits: QueueLimits,
        newest: Callable[[], int],
        on_rights_checked: Callable[["Stream"], None],
        on_closed: Callable[["Stream"], None],
    ) -> None:
        """`newest` returns the cursor of the last change that the hub has received."""
        super().__init__(rights, event_filter, limits)
        self._context = context
        self._event_filter = event_filter
        self._last_event_id = last_event_id
        self._newest = newest
        self._on_rights_checked = on_rights_checked
        self._on_closed = on_closed
        self._loop = asyncio.get_running_loop()
        # The rights are invalid at first, because they may have changed since the request was admitted.
        self._rights_version, self._checked_version = 1, 0
        self._heartbeat_due = False
        self._position = 0
        """The cursor of the last change that was replayed from the store."""
        self._timer: asyncio.TimerHandle | None = None

    @property
    def idle(self) -> bool:
        """Whether all events were yielded, and no check of the rights is due."""
        return not self.waiting and self._checked_version == self._rights_version and not self._wakeup.is_set()

    # called by the hub; these methods never wait

    def invalidate_rights(self) -> None:
        """Mark the rights as invalid, because something changed that they depend on.

        They are checked again before the next event.
        """
        self._rights_version += 1
        self._wake()

    def end(self, end: End) -> None:
        self._end = self._end or end
        self._drop_waiting()
        self._wake()

    def send_heartbeat(self) -> None:
        self._heartbeat_due = True
        self._wake()

    def close(self) -> None:
        """Close the stream after the client has disconnected or the last event was yielded."""
        if self.closed:
            return
        self.closed = True
        self._drop_waiting()
        if self._timer is not None:
            self._timer.cancel()
        self._wake()
        self._on_closed(self)

    # called by the surface

    async def frames(self, writer: EventWriter) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of the stream in parts (frames): most frames have one or more events.

        The caller must write each frame at once, because the rights may change after their check.
        """
        try:
            yield OPENING
            await self._check_rights()
            reset = await self._find_reset()
            if self._last_event_id and reset is None:
                async for frame in self._resume():
                    yield frame
            else:
                if reset is not None:
                    await self._check_rights()
                    yield print_reset(reset)
                async for frame in self._begin(present=reset is not None or self._event_filter.present):
                    yield frame
            async for frame in self._follow(writer):
                yield frame
        except Ended as ended:
            if not self.closed:
                yield print_end(ended.end)
        except Exception:
            _log.exception("an event stream was interrupted")
            yield print_end(INTERRUPTED)
        finally:
            self.close()

    async def _find_reset(self) -> Reset | None:
        """Return why the stream cannot resume after `Last-Event-ID`.

        Return None if it can resume, or if the header is missing.
        """
        if not self._last_event_id:
            return None
        if not _CURSOR(self._last_event_id):
            return UNKNOWN_CURSOR
        self._position = int(self._last_event_id)
        oldest, newest = await self._context.store.feed_span()
        if self._position > max(newest, self._newest()):
            return UNKNOWN_CURSOR  # for example because an older backup was restored
        return TOO_OLD if self._position < oldest - 1 else None

    async def _begin(self, *, present: bool) -> AsyncGenerator[bytes, None]:
        cursor = self._live_after = self._newest()
        if present:
            async for frame in self._print_present(cursor):
                yield frame
        await self._check_rights()
        yield print_ready(cursor)

    async def _print_present(self, cursor: int) -> AsyncGenerator[bytes, None]:
        for plant_id in sorted(self.rights.plants):
            access = await self._get_access(plant_id)
            module_ids = iter(tuple(access.plant.modules))
            while ids := tuple(islice(module_ids, PRESENT_AT_ONCE)):
                access = await self._get_access(plant_id)
                now = self._context.clock.now()
                frame = print_present(access, ids, self._event_filter, source=self._context.source, cursor=cursor, now=now)
                if frame:
                    yield frame

    async def _get_access(self, plant_id: Id) -> Access:
        """Check the rights of the stream, and return its access to a plant. Raises Ended if the stream must end."""
        while True:
            await self._check_rights()
            try:
                access = await self.rights.get_access(plant_id)
            except (NoSuchPlant, NotYourPlant):
                raise Ended(PLANT_LOST) from None
            if not self._rights_invalid:
                await self._check_rights()  # the stream may have ended during the await
                return access

    async def _resume(self) -> AsyncGenerator[bytes, None]:
        """Yield each missed event exactly once, up to the cursor after which the hub sends the events."""
        try:
            async for frame in self._replay(None):
                yield frame
            cursor = self._live_after = max(self._position, self._newest())
            async for frame in self._replay(cursor):
                yield frame
        except _Pruned:
            await self._check_rights()
            yield print_reset(TOO_OLD)
            async for frame in self._begin(present=True):
                yield frame
            return
        await self._check_rights()
        yield print_ready(cursor)

    async def _replay(self, until: int | None) -> AsyncGenerator[bytes, None]:
        """Yield the events after the stream's position, up to the cursor `until`.

        If `until` is None, yield them up to the newest change that the hub has received.
        """
        while until is None or self._position < until:
            page, more = await self._read_page(until)
            frame = self._take(await self._keep_visible(await self._print(page)))
            if frame:
                yield frame
            if page:
                self._position = page[-1].cursor
            if not more:
                break
        if until is not None:
            self._position = until

    async def _read_page(self, until: int | None) -> tuple[Sequence[Change], bool]:
        """Return the next changes of the stream's plants, and whether there may be more of them.

        Only changes up to the cursor `until` are returned.

        If `until` is None, they are returned up to the newest change that the hub has received. Raises _Pruned if the
        store does not have all these changes any more.
        """
        while True:
            await self._check_rights()
            checked = self._checked_version
            found = await self.rights.list_changes(self._position, PAGE)
            # Read after the page, to detect changes that were pruned during the await.
            oldest, _ = await self._context.store.feed_span()
            # If the user got a plant during the await, its changes are missing in the page.
            if checked == self._rights_version:
                break
        if oldest > self._position + 1:
            raise _Pruned
        # Changes that the hub has not received yet are left out: one of them may give the user a plant. They come later.
        limit = self._newest() if until is None else until
        page = [change for change in found if change.cursor <= limit]
        return page, len(page) == PAGE

    async def _print(self, changes: Sequence[Change]) -> FramedNotices:
        framed = []
        for change in changes:
            assert isinstance(change.event, StateChanged | PlantChanged), "the page has only events of plants"
            try:
                access = await self.rights.get_access(change.event.plant_id)
            except (NoSuchPlant, NotYourPlant):
                continue
            notice = find_notice(change, access.plant)
            if notice is not None and self._event_filter.wants(notice.kinds) and access.may_get(notice):
                framed.append((notice, frame_notice(notice, access.plant, self._context.source)))
        return framed

    async def _follow(self, writer: EventWriter) -> AsyncGenerator[bytes, None]:
        while True:
            if not self._queue and not self._heartbeat_due:
                if not self._wakeup.is_set():  # Each call that invalidates the rights also sets this event.
                    self._writer = writer
                    await self._wakeup.wait()
                await writer.until_writable()
            self._wakeup.clear()
            frame = self._take(await self._keep_visible(self._queue.take()))
            if not frame and self._heartbeat_due:
                frame = HEARTBEAT
            self._heartbeat_due = False
            if frame:
                self.written_at = self._loop.time()
                yield frame

    def _take(self, notices: FramedNotices) -> bytes:
        """Count the notices as sent, and return their bytes."""
        self.sent += len(notices)
        return join(notices)

    # rights

    @property
    def _rights_invalid(self) -> bool:
        return self._checked_version != self._rights_version or self.rights.outdated

    async def _keep_visible(self, notices: FramedNotices) -> FramedNotices:
        """Return the notices that may be sent now."""
        while self._rights_invalid:
            await self._check_rights()
            notices = await self.rights.keep_visible(notices)
        await self._check_rights()
        return notices

    async def _check_rights(self) -> None:
        """Check the rights if they are marked as invalid.

        Raises Ended if `StreamRights.check` refuses something, for example the token, or if the token or the key has expired.
        Also raises Ended if `end` or `close` was called before.
        """
        while self._rights_invalid:
            version = self._rights_version
            if self._end is None and not self.closed:
                await self.rights.check()
            self._checked_version = version
            if self._end is not None or self.closed:
                break
            if version == self._rights_version:
                # This is called after the check, because a change during the check may have given the user another plant.
                self._set_timer()
                self._on_rights_checked(self)
        if self._end is not None:
            raise Ended(self._end)
        if self.closed:
            raise Ended(DRAINING)
        self.rights.check_time()

    def _set_timer(self) -> None:
        """Set a timer that wakes the stream when the rights expire."""
        if self._timer is not None:
            self._timer.cancel()
        left = self.rights.until - self._context.clock.now()
        if left > 0 and not self.closed:
            self._timer = self._loop.call_later(min(left, _LONGEST_TIMER), self._expire)

    def _expire(self) -> None:
        self._set_timer()
        self._wake()


class _Pruned(Exception):
    """Changes that the stream still needs were removed from the store. So the stream sends `reset` and the present states."""
