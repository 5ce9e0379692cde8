"""Passes changes to the streams that show them, and writes the events of each stream to its connection.

If changes come faster than they can be written, several events wait for the same stream. Then one write sends all of them. The
reason: the system call of a write takes a large part of the CPU time of an event. A hub that has written much pauses between
its writes. So more events wait for the next write (Decision 0145).
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from domogate.common.log import get_logger
from domogate.domain.events import Change, PlantChanged, StateChanged
from domogate.domain.ids import Id
from domogate.services.events.endings import INTERRUPTED, PLANT_LOST
from domogate.services.events.frames import frame_notice
from domogate.services.events.notices import find_notice
from domogate.services.events.stream import Stream
from domogate.services.events.stream_rights import FramedNotice, StreamContext, ViewerKey
from domogate.services.events.write_pace import WritePace

MOST_TOGETHER = 32
"""If this number of events waits for one connection, they are written immediately."""
_STEPS_OF_CHANGE = 10
"""In one step, an event is passed to one stream. The work to make the event of a change counts as this number of steps.

The reason: this work takes about as long as passing the event to ten streams.
"""

_log = get_logger(__name__)


class Portion(NamedTuple):
    """How much the hub does before other tasks of the event loop can run."""

    steps: int
    """The number of steps. In one step, one event is passed to one stream."""
    writes: int
    """The number of connections to which the hub writes events."""


QUIET = Portion(steps=20, writes=1)
BUSY = Portion(steps=60, writes=4)
"""A busy hub does this much before other tasks can run.

It is more than `QUIET`, because each switch to other tasks also takes CPU time.
"""


class Distributor:
    """The changes that wait for the streams of a hub, and the streams that have events to write."""

    def __init__(self, context: StreamContext, list_listening: Callable[[Id], Sequence[Stream]]) -> None:
        """`list_listening` returns the streams that show events of a plant."""
        self._context = context
        self._list_listening = list_listening
        self._changes: deque[Change] = deque()
        self._unwritten: deque[Stream] = deque()
        """The streams whose events were not written yet. The stream that has waited longest is the first."""
        self._distributing = False
        self._steps = 0
        """The number of steps since other tasks last had a chance to run."""
        self._portion = QUIET
        self._pace = WritePace()
        self._wakeup = asyncio.Event()

    def __len__(self) -> int:
        """The number of changes that wait."""
        return len(self._changes)

    @property
    def idle(self) -> bool:
        """Whether no change waits and the hub has no event to write.

        Events in the queue of a stream do not count, because the task of the stream writes them.
        """
        return not self._changes and not self._unwritten and not self._distributing

    def add(self, change: Change) -> None:
        """Add a change of a state or of a plant. Changes are added in the order of their cursors."""
        self._changes.append(change)
        self._wakeup.set()

    def clear(self) -> None:
        """Drop the changes that are not passed to the streams yet."""
        self._changes.clear()

    async def run(self) -> None:
        while True:
            await self._wakeup.wait()
            self._wakeup.clear()
            while self._changes or self._unwritten:
                if self._changes and self._steps < self._portion.steps:
                    await self._distribute_next()
                elif not self._changes and (pause := self._pace.find_pause(asyncio.get_running_loop().time())):
                    await self._pause_writes(pause)
                else:
                    await self._write()

    async def _pause_writes(self, seconds: float) -> None:
        """Write nothing for this number of seconds, or until a change comes.

        After such a change has been passed to its streams, the pace decides again whether the hub must pause.
        """
        timer = asyncio.get_running_loop().call_later(seconds, self._wakeup.set)
        await self._wakeup.wait()
        self._wakeup.clear()
        timer.cancel()

    async def _distribute_next(self) -> None:
        change = self._changes.popleft()
        assert isinstance(change.event, StateChanged | PlantChanged)
        plant_id = change.event.plant_id
        self._distributing = True
        try:
            await self._distribute(change, plant_id)
        except Exception:
            # The streams of the plant end: a disconnected client resumes, but a client cannot notice a missing event.
            _log.exception("a change could not be sent to event streams", cursor=change.cursor)
            for stream in self._list_listening(plant_id):
                stream.end(INTERRUPTED)
        finally:
            self._distributing = False

    async def _distribute(self, change: Change, plant_id: Id) -> None:
        if not self._list_listening(plant_id):
            return
        context = self._context
        plant = await context.get_plant(plant_id)
        notice = None if plant is None else find_notice(change, plant)
        if plant is None or notice is None:
            return
        framed: FramedNotice | None = None
        viewer: ViewerKey | None = None
        may_get: bool | None = None
        may_get_of: dict[ViewerKey, bool | None] = {}
        self._steps += _STEPS_OF_CHANGE
        # A stream that opens during this loop reads this change from the store.
        for stream in self._list_listening(plant_id):
            if stream.accepts(notice):
                rights = stream.rights
                if rights.viewer_key != viewer:
                    viewer = rights.viewer_key
                    if viewer not in may_get_of:
                        may_get_of[viewer] = rights.may_get(notice, plant)
                    may_get = may_get_of[viewer]
                if may_get:
                    framed = framed or (notice, frame_notice(notice, plant, context.source))
                    waiting = stream.push(framed)
                    if waiting == 1:
                        self._unwritten.append(stream)
                    elif waiting == MOST_TOGETHER:
                        stream.write_waiting(context.clock.now(), asyncio.get_running_loop().time())
                elif may_get is None and plant_id in rights.plants:
                    stream.end(PLANT_LOST)
            self._steps += 1
            if self._steps >= self._portion.steps:
                await self._write()

    async def _write(self) -> None:
        """Write the waiting events of the next streams, or nothing if the hub must pause. After that, let other tasks run."""
        now, moment = self._context.clock.now(), asyncio.get_running_loop().time()
        self._portion = BUSY if self._pace.is_busy(moment) else QUIET
        writes = min(self._portion.writes, len(self._unwritten)) if self._pace.may_write(moment) else 0
        self._pace.count(writes, len(self._unwritten), moment)
        for _ in range(writes):
            stream = self._unwritten.popleft()
            try:
                stream.write_waiting(now, moment)
            except Exception:
                _log.exception("an event could not be written")
                stream.end(INTERRUPTED)
        self._steps = 0
        await asyncio.sleep(0)
