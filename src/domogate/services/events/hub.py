"""Passes committed changes to the open event streams.

Only the streams that depend on a change do work for this change.
"""

import asyncio
from collections.abc import Collection, Sequence

from domogate.common.log import get_logger
from domogate.common.tasks import cancel
from domogate.domain.events import Change, ChangesLost, PlantChanged, SigningKeysChanged, StateChanged
from domogate.domain.faults import ScopeMissing
from domogate.domain.ids import Id
from domogate.domain.notices import kinds_of_plant
from domogate.ports import Admission, Clock, FeedStore, Verifier
from domogate.services.events.distribution import Distributor
from domogate.services.events.endings import DRAINING, INTERRUPTED, SLOW
from domogate.services.events.filters import EventFilter, scopes_for
from domogate.services.events.operator_rights import IsOperator, OperatorRights
from domogate.services.events.queue import QueueLimits
from domogate.services.events.stream import Stream
from domogate.services.events.stream_rights import (
    ALL_PLANTS,
    Dependency,
    StreamContext,
    StreamRights,
    find_dependency,
    key_dependency,
    plant_dependency,
    user_dependency,
)
from domogate.services.plants.read_model import ReadModel
from domogate.services.rights.access import Caller

HEARTBEAT_EVERY = 15.0
CHECKED_AT_ONCE = 100
"""The number of streams that are checked for a heartbeat before other tasks of the event loop can run."""
_MOST_WAITING = 10_000
"""The number of changes that may wait to be distributed while an operator listens to all plants.

If more changes wait, each stream that shows all plants ends.
"""

_log = get_logger(__name__)


class Unavailable(Exception):
    """The stream was not opened. The client can try again after `retry_after` seconds."""

    retry_after = 5


class TooManyStreams(Unavailable):
    """The stream was not opened, because this user or subscription key has too many open streams.

    Other users and keys can still open streams.
    """


class Hub:
    """All open streams of this process. Register `apply` as a listener of the store, after the listener of the read model."""

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
        most_per_user: int,
        most_per_key: int,
        heartbeat: float = HEARTBEAT_EVERY,
        queue_events: int = 2_000,
        queue_bytes: int = 1_000_000,
    ) -> None:
        """`source` is the URL of the gateway. `most` is the number of streams that may be open.

        `most_per_user` and `most_per_key` are the limits of one user and of one subscription key. A limit above half of `most`
        is reduced to this half, so that nobody can take all streams (Decision 0057).
        """
        self._context = StreamContext(store, read_model, verifier, admission, clock, source)
        self._most = most
        half = max(1, most // 2)
        self._most_per_user, self._most_per_key = min(most_per_user, half), min(most_per_key, half)
        self._heartbeat = heartbeat
        self._limits = QueueLimits(queue_events, queue_bytes)
        self._streams: dict[Stream, set[Dependency]] = {}
        self._by_dependency: dict[Dependency, dict[Stream, None]] = {}
        self._distributor = Distributor(self._context, self._list_listening)
        self._tasks: list[asyncio.Task[None]] = []
        self._draining = False
        self._sent_before = 0
        """The number of events that were sent to streams that are closed now."""
        self._newest = 0

    @property
    def open_streams(self) -> int:
        return len(self._streams)

    @property
    def sent(self) -> int:
        """The number of events that were sent to streams."""
        return self._sent_before + sum(stream.sent for stream in self._streams)

    @property
    def idle(self) -> bool:
        """Whether every change was distributed to the streams, and the hub has no event left to write to a client."""
        return self._distributor.idle

    async def start(self) -> None:
        """Load the newest cursor, and start to distribute changes and to send heartbeats.

        Call this after the store has started and after `apply` is registered as a listener.
        """
        self._newest = max(self._newest, await self._context.store.newest_cursor())
        self._tasks = [
            asyncio.create_task(self._distributor.run(), name="event streams"),
            asyncio.create_task(self._send_heartbeats(), name="heartbeats of event streams"),
        ]

    async def stop(self) -> None:
        self.drain()
        await cancel(*self._tasks)
        self._tasks = []

    def drain(self) -> None:
        """End all streams now, and refuse new ones."""
        self._draining = True
        for stream in list(self._streams):
            stream.end(DRAINING)

    # streams

    async def open(self, caller: Caller, event_filter: EventFilter, last_event_id: bytes | None = None) -> Stream:
        """Open a stream. If `last_event_id` is given, the stream begins with the events after it, or with `reset`.

        The event `reset` means that the missed events are not available, and that the present states follow.

        Raises ScopeMissing if the scopes of the token allow none of the events of the filter. Raises NoSuchPlant or
        NotYourPlant if the caller has no access to a plant of the filter. Raises Unavailable if the gateway stops or has
        reached its limit of open streams. Raises TooManyStreams if the user or the subscription key has too many open streams.
        """
        scopes = scopes_for(event_filter.kinds)
        if scopes.isdisjoint(caller.principal.scopes):
            named = tuple(sorted(scopes))
            raise ScopeMissing(f"the token needs one of the scopes that show these events: {', '.join(named)}", named)
        rights = StreamRights(self._context, caller, event_filter)
        for plant_id in sorted(event_filter.plants):
            await rights.get_access(plant_id)
        return self._open(rights, caller, event_filter, last_event_id)

    async def open_for_operator(
        self, caller: Caller, is_operator: IsOperator, event_filter: EventFilter, last_event_id: bytes | None = None
    ) -> Stream:
        """Open a stream of all plants, or of the plants of the filter. Raises NoSuchPlant, Unavailable, TooManyStreams."""
        rights = OperatorRights(self._context, caller, event_filter, is_operator)
        for plant_id in sorted(event_filter.plants):
            await rights.get_access(plant_id)
        return self._open(rights, caller, event_filter, last_event_id)

    def _open(self, rights: StreamRights, caller: Caller, event_filter: EventFilter, last_event_id: bytes | None) -> Stream:
        if self._draining:
            raise Unavailable("The gateway is stopping; connect again later.")
        if len(self._streams) >= self._most:
            raise Unavailable(f"The gateway already has {self._most} open event streams, which is its limit.")
        self._check_share("user", user_dependency(caller.principal.user_id), self._most_per_user)
        if caller.key is not None:
            self._check_share("subscription key", key_dependency(caller.key), self._most_per_key)
        stream = Stream(
            self._context,
            rights,
            event_filter,
            last_event_id,
            limits=self._limits,
            newest=lambda: self._newest,
            on_rights_checked=self._index,
            on_closed=self._remove,
        )
        self._streams[stream] = set()
        self._index(stream)
        return stream

    def _check_share(self, of: str, dependency: Dependency, most: int) -> None:
        if len(self._by_dependency.get(dependency, ())) >= most:
            raise TooManyStreams(f"The {of} already has {most} open event streams, which is the limit. Close one first.")

    def _index(self, stream: Stream) -> None:
        """Update the index entries of the stream: it has one entry for each object that its rights depend on now.

        Such objects are its user, grant, plants and so on.
        """
        if stream.closed:
            return
        before, now = self._streams[stream], set(stream.rights.list_dependencies())
        for dependency in now - before:
            self._by_dependency.setdefault(dependency, {})[stream] = None
        for dependency in before - now:
            self._unindex(stream, dependency)
        self._streams[stream] = now

    def _unindex(self, stream: Stream, dependency: Dependency) -> None:
        streams = self._by_dependency[dependency]
        del streams[stream]
        if not streams:
            del self._by_dependency[dependency]

    def _remove(self, stream: Stream) -> None:
        for dependency in self._streams.pop(stream):
            self._unindex(stream, dependency)
        self._sent_before += stream.sent

    # changes

    def apply(self, changes: Sequence[Change]) -> None:
        """Mark the rights of streams as invalid if these changes may affect them. This method is a listener of the store.

        The changes are distributed to the streams later.
        """
        if self._streams:
            for change in changes:
                event = change.event
                if type(event) is StateChanged:
                    if plant_dependency(event.plant_id) in self._by_dependency or self._operators_need(change):
                        self._distributor.add(change)
                elif type(event) is PlantChanged:
                    self._apply_plant(change, event)
                elif type(event) is ChangesLost:
                    self._end_after_loss()
                elif type(event) is SigningKeysChanged:
                    _invalidate_rights(self._streams)
                elif (dependency := find_dependency(event)) is not None:
                    _invalidate_rights(self._by_dependency.get(dependency, ()))
        if changes:
            is_lost = type(changes[-1].event) is ChangesLost
            self._newest = changes[-1].cursor if is_lost else max(self._newest, changes[-1].cursor)

    def _end_after_loss(self) -> None:
        """End all streams, because this gateway missed changes (`ChangesLost`).

        A client that connects again gets `reset` if the store does not have the missed changes.
        """
        self._distributor.clear()
        for stream in tuple(self._streams):
            stream.end(INTERRUPTED)

    def _apply_plant(self, change: Change, event: PlantChanged) -> None:
        if not kinds_of_plant(event):
            return
        dependency = plant_dependency(event.plant_id)
        for user_id in event.user_ids:
            for stream in self._by_dependency.get(user_dependency(user_id), ()):
                if stream.rights.all_plants:
                    # The user may have got this plant. The stream gets the events of this plant from now on.
                    self._streams[stream].add(dependency)
                    self._by_dependency.setdefault(dependency, {})[stream] = None
        streams = self._by_dependency.get(dependency, ())
        _invalidate_rights(streams)
        if streams or self._operators_need(change):
            self._distributor.add(change)

    def _operators_need(self, change: Change) -> bool:
        """Return whether an operator has a stream that shows all plants. If too many changes wait, end each such stream.

        Changes wait while their plants are loaded from the store. In a large estate, changes may come faster than their plants
        are loaded.
        """
        listening = self._by_dependency.get(ALL_PLANTS)
        if listening and len(self._distributor) >= _MOST_WAITING:
            _log.warning("streams of operators end: too many changes wait", cursor=change.cursor)
            for stream in tuple(listening):
                stream.end(SLOW)
        return bool(listening)

    def _list_listening(self, plant_id: Id) -> tuple[Stream, ...]:
        """Return the streams that show events of this plant."""
        return (*self._by_dependency.get(plant_dependency(plant_id), ()), *self._by_dependency.get(ALL_PLANTS, ()))

    async def _send_heartbeats(self) -> None:
        """Send heartbeats. Also wake streams whose rights have expired.

        A stream has a timer for the end of its rights. But if the clock is set forward, this timer is late.
        """
        loop, pause = asyncio.get_running_loop(), min(1.0, self._heartbeat / 2)
        while True:
            await asyncio.sleep(pause)
            idle, now = loop.time() - self._heartbeat, self._context.clock.now()
            for checked, stream in enumerate(tuple(self._streams), start=1):
                if stream.written_at <= idle or stream.rights.until <= now:
                    stream.send_heartbeat()
                if checked % CHECKED_AT_ONCE == 0:
                    await asyncio.sleep(0)


def _invalidate_rights(streams: Collection[Stream]) -> None:
    for stream in streams:
        stream.invalidate_rights()
