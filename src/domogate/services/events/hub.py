"""Takes what was committed to those who listen: one look at each change, and no work for anyone it does not concern."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Collection, Sequence

import structlog

from domogate.domain.events import Change, PlantChanged, SigningKeysChanged, StateChanged
from domogate.domain.faults import ScopeMissing
from domogate.domain.ids import Id
from domogate.domain.notices import kinds_of_plant
from domogate.ports import Admission, Clock, FeedStore, Verifier
from domogate.services.events.endings import DRAINING, INTERRUPTED
from domogate.services.events.filters import EventFilter, scopes_for
from domogate.services.events.frames import frame_notice
from domogate.services.events.rights import find_notice, may_read_plant, scopes_of
from domogate.services.events.stream import Bounds, Stream
from domogate.services.events.stream_rights import (
    Concern,
    StreamContext,
    StreamRights,
    check_plant,
    concern_of,
    plant_concern,
    user_concern,
)
from domogate.services.plants.read_model import ReadModel
from domogate.services.rights.credentials import Caller

HEARTBEAT_EVERY = 15.0
AT_ONCE = 4
"""Listeners told of a change before everybody else on the event loop gets a turn."""
RETRY_AFTER = 5

_log = structlog.get_logger(__name__)


class NotNow(Exception):
    """No stream can be opened at the moment; `retry_after` is in seconds."""

    def __init__(self, message: str, retry_after: int = RETRY_AFTER) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Hub:
    """All open streams of this process. `apply` is to be a listener of the store, behind the read model's."""

    def __init__(
        self,
        store: FeedStore,
        read_model: ReadModel,
        verifier: Verifier,
        admission: Admission,
        clock: Clock,
        *,
        source: str,
        most: int,
        heartbeat: float = HEARTBEAT_EVERY,
        queue_events: int = 2_000,
        queue_bytes: int = 1_000_000,
    ) -> None:
        """`source` is the gateway's own URL, `most` how many streams may be open at once."""
        self._context = StreamContext(store, read_model, verifier, admission, clock, source)
        self._most = most
        self._heartbeat = heartbeat
        self._bounds = Bounds(queue_events, queue_bytes)
        self._streams: dict[Stream, set[Concern]] = {}
        self._by_concern: dict[Concern, dict[Stream, None]] = {}
        self._fresh: deque[Change] = deque()
        self._arrived = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._draining = False
        self._told_before = 0
        self._newest = 0

    @property
    def open_streams(self) -> int:
        return len(self._streams)

    @property
    def sent(self) -> int:
        """How many events were handed to listeners."""
        return self._told_before + sum(stream.told for stream in self._streams)

    async def start(self) -> None:
        """After the store has started and `apply` listens."""
        self._newest = max(self._newest, await self._context.store.newest_cursor())
        self._tasks = [
            asyncio.create_task(self._pump(), name="event streams"),
            asyncio.create_task(self._beat_regularly(), name="heartbeats of event streams"),
        ]

    async def stop(self) -> None:
        self.drain()
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self._tasks = []

    def drain(self) -> None:
        """End every stream now; nothing new is opened."""
        self._draining = True
        for stream in list(self._streams):
            stream.end(DRAINING)

    # listeners

    async def open(self, caller: Caller, event_filter: EventFilter, last_event_id: bytes | None = None) -> Stream:
        """Raises ScopeMissing, NoSuchPlant, NotYourPlant, NotNow."""
        who = caller.principal
        scopes = scopes_for(event_filter.kinds)
        if scopes.isdisjoint(who.scopes):
            named = tuple(sorted(scopes))
            raise ScopeMissing(f"the token lacks every scope that shows any of this: {', '.join(named)}", named)
        for plant_id in sorted(event_filter.plants):
            check_plant(who.user_id, plant_id, await self._context.read_model.get_plant(plant_id))
        if self._draining:
            raise NotNow("The gateway stops for now; connect again in a moment.")
        if len(self._streams) >= self._most:
            raise NotNow(f"{self._most} event streams are open, as many as this gateway is set to serve.")
        stream = Stream(
            self._context,
            StreamRights(self._context, caller, event_filter),
            event_filter,
            last_event_id,
            bounds=self._bounds,
            newest=lambda: self._newest,
            on_settled=self._index,
            on_closed=self._forget,
        )
        self._streams[stream] = set()
        self._index(stream)
        return stream

    def _index(self, stream: Stream) -> None:
        """By all that concerns it now, and by nothing else."""
        if stream.closed:
            return
        before, now = self._streams[stream], set(stream.own_pass.concerns())
        for concern in now - before:
            self._by_concern.setdefault(concern, {})[stream] = None
        for concern in before - now:
            self._unindex(stream, concern)
        self._streams[stream] = now

    def _unindex(self, stream: Stream, concern: Concern) -> None:
        concerned = self._by_concern[concern]
        del concerned[stream]
        if not concerned:
            del self._by_concern[concern]

    def _forget(self, stream: Stream) -> None:
        for concern in self._streams.pop(stream):
            self._unindex(stream, concern)
        self._told_before += stream.told

    # what was committed

    def apply(self, changes: Sequence[Change]) -> None:
        """Take it up, and say at once to all whom it concerns that their rights are in doubt; the rest is the pump's."""
        if self._streams:
            for change in changes:
                event = change.event
                if type(event) is StateChanged:
                    if plant_concern(event.plant_id) in self._by_concern:
                        self._fresh.append(change)
                elif type(event) is PlantChanged:
                    self._apply_plant(change, event)
                elif type(event) is SigningKeysChanged:
                    _doubt(self._streams)
                elif (concern := concern_of(event)) is not None:
                    _doubt(self._by_concern.get(concern, ()))
            if self._fresh:
                self._arrived.set()
        if changes:
            self._newest = max(self._newest, changes[-1].cursor)

    def _apply_plant(self, change: Change, event: PlantChanged) -> None:
        if not kinds_of_plant(event):
            return
        concern = plant_concern(event.plant_id)
        for user_id in event.user_ids:
            for stream in self._by_concern.get(user_concern(user_id), ()):
                if stream.own_pass.about_all:
                    # Perhaps a plant that they gain: what happens in it is heard of from this moment on.
                    self._streams[stream].add(concern)
                    self._by_concern.setdefault(concern, {})[stream] = None
        concerned = self._by_concern.get(concern)
        if concerned:
            _doubt(concerned)
            self._fresh.append(change)

    async def _pump(self) -> None:
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            while self._fresh:
                change = self._fresh[0]
                assert isinstance(change.event, StateChanged | PlantChanged)
                try:
                    await self._distribute(change, change.event.plant_id)
                except Exception:
                    # Better cut off than with a gap that nobody knows of.
                    _log.exception("listeners could not be told", cursor=change.cursor)
                    for stream in tuple(self._by_concern.get(plant_concern(change.event.plant_id), ())):
                        stream.end(INTERRUPTED)
                self._fresh.popleft()

    async def _distribute(self, change: Change, plant_id: Id) -> None:
        concern = plant_concern(plant_id)
        if concern not in self._by_concern:
            return
        plant = self._context.read_model.find_plant(plant_id) or await self._context.read_model.get_plant(plant_id)
        notice = None if plant is None else find_notice(change, plant)
        if plant is None or notice is None:
            return
        scopes = scopes_of(notice, plant)
        piece = b""
        # Who comes while others are told hears of it from the store.
        listeners = tuple(self._by_concern.get(concern, ()))
        for number, stream in enumerate(listeners, 1):
            if stream.hears(notice, scopes):
                if may_read_plant(stream.own_pass.principal.user_id, plant):
                    piece = piece or frame_notice(notice, plant, self._context.source)
                    stream.push(notice, piece)
                else:
                    stream.lose(plant_id)
            if number % AT_ONCE == 0 or number == len(listeners):
                await asyncio.sleep(0)

    async def _beat_regularly(self) -> None:
        """Also wakes those whose time is up by a clock that was moved."""
        loop, pause = asyncio.get_running_loop(), min(1.0, self._heartbeat / 2)
        while True:
            await asyncio.sleep(pause)
            idle, now = loop.time() - self._heartbeat, self._context.clock.now()
            for stream in self._streams:
                if stream.touched <= idle or stream.own_pass.until <= now:
                    stream.beat()


def _doubt(streams: Collection[Stream]) -> None:
    for stream in streams:
        stream.doubt()
