"""Calls to drivers, each under a deadline: whoever waits is answered by it, whatever the driver does.

A call runs in a task of its own. At the deadline it is cancelled; a driver that does not let go is left behind, counted until
it does, and takes room among the calls its plant may have under way.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeAlias, TypeVar

import structlog

from domogate.domain.faults import DeviceTimeout, Fault, Internal
from domogate.domain.ids import Id
from domogate.ports import Clock

_log = structlog.get_logger(__name__)

MOST_IN_A_PLANT = 4096
"""Orders and questions that a plant may have under way, those left behind included."""
_LEEWAY = 0.1
"""For so long after the deadline whoever waits still waits for the end to be on disk, or for a confirmation to be."""
_LETTING_GO = 0.25
"""For so long a driver may take to end a call that was cancelled, before it counts as left behind."""
_STOPPING, _LAST_ENDS = 1.0, 10.0

T = TypeVar("T")

Outcome: TypeAlias = asyncio.Future[T | Fault]
"""What became of a call. A fault is kept as a result, so that each who asks raises one of their own."""


class Errand:
    """One call on its way."""

    __slots__ = ("_late", "at_driver", "left_behind", "on_late", "outcome", "plant_id", "task", "timer")

    def __init__(self, plant_id: Id, outcome: Outcome[Any]) -> None:
        self.plant_id = plant_id
        self.outcome = outcome
        self.at_driver = False
        """The driver has it: only then is it cancelled at the deadline."""
        self.on_late: Callable[[], Awaitable[None]] | None = None
        """What is to be done when the deadline passes while the driver has it."""
        self._late = False
        self.left_behind = False
        self.task: asyncio.Task[None] | None = None
        self.timer: asyncio.TimerHandle | None = None

    def give_to_driver(self, on_late: Callable[[], Awaitable[None]] | None = None) -> None:
        self.at_driver = True
        self.on_late = on_late

    def take_back(self) -> None:
        """The driver has answered. If that was in time, whoever waits is told so, even if keeping it takes longer."""
        self.at_driver = False
        if not self._late:
            self.on_late = None

    def is_late(self) -> bool:
        """Whoever waits has been told that its time is up, or is being told."""
        return self._late

    def run_late(self) -> None:
        self._late = True


class Errands:
    """All calls under way, by plant."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._under_way: dict[Id, int] = {}
        self._left_behind: dict[Id, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._endings: set[asyncio.Task[None]] = set()

    def run(self, plant_id: Id, deadline: float, work: Callable[[Errand], Coroutine[Any, Any, T]]) -> Outcome[T]:
        """Begin. Raises DeviceTimeout when the plant has too many under way already."""
        under_way = self._under_way.get(plant_id, 0)
        if under_way >= MOST_IN_A_PLANT:
            raise DeviceTimeout("the devices of this plant are not asked: too many orders and questions are under way there")
        loop = asyncio.get_running_loop()
        outcome: Outcome[T] = loop.create_future()
        errand = Errand(plant_id, outcome)
        self._under_way[plant_id] = under_way + 1
        errand.timer = loop.call_later(deadline - self._clock.now(), self._time_is_up, errand)
        errand.task = loop.create_task(self._go(errand, work))
        self._tasks.add(errand.task)
        return outcome

    @property
    def left_behind(self) -> dict[Id, int]:
        """How many calls of each plant its drivers did not end when they were cancelled."""
        return dict(self._left_behind)

    async def stop(self) -> None:
        """Cut off what is under way; a driver that does not let go is not waited for. Ends that are being written are."""
        tasks = set(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_STOPPING)
        if self._endings:
            await asyncio.wait(set(self._endings), timeout=_LAST_ENDS)

    async def _go(self, errand: Errand, work: Callable[[Errand], Coroutine[Any, Any, T]]) -> None:
        result: T | Fault
        try:
            result = await work(errand)
        except Fault as fault:
            result = fault
        except asyncio.CancelledError:
            result = DeviceTimeout("the device did not answer in time")
        except Exception as error:
            _log.error("call to a driver failed", plant_id=errand.plant_id, exc_info=error)
            result = Internal("what the device was asked could not be done")
        finally:
            self._forget(errand)
        # Someone whose time was up during a cancellation is answered when the end is on disk.
        if not errand.outcome.done() and not (errand.is_late() and errand.on_late is not None):
            errand.outcome.set_result(result)

    def _forget(self, errand: Errand) -> None:
        assert errand.timer is not None
        assert errand.task is not None
        errand.timer.cancel()
        self._tasks.discard(errand.task)
        _count_down(self._under_way, errand.plant_id)
        if errand.left_behind:
            _count_down(self._left_behind, errand.plant_id)

    def _time_is_up(self, errand: Errand) -> None:
        errand.run_late()
        loop = asyncio.get_running_loop()
        if not errand.at_driver:
            loop.call_later(_LEEWAY, self._give_up, errand)
            return
        assert errand.task is not None
        errand.task.cancel()
        loop.call_later(_LETTING_GO, self._look_after, errand)
        if errand.on_late is None:
            self._give_up(errand)
        else:
            loop.call_later(_LEEWAY, self._give_up, errand)
            ending = loop.create_task(self._end_late(errand, errand.on_late))
            self._endings.add(ending)
            ending.add_done_callback(self._endings.discard)

    async def _end_late(self, errand: Errand, on_late: Callable[[], Awaitable[None]]) -> None:
        try:
            await on_late()
        finally:
            self._give_up(errand)

    def _give_up(self, errand: Errand) -> None:
        if not errand.outcome.done():
            errand.outcome.set_result(DeviceTimeout("the device did not answer in time"))

    def _look_after(self, errand: Errand) -> None:
        assert errand.task is not None
        if not errand.task.done():
            errand.left_behind = True
            count = self._left_behind[errand.plant_id] = self._left_behind.get(errand.plant_id, 0) + 1
            _log.warning("a driver does not let go of a call whose time is up", plant_id=errand.plant_id, left_behind=count)


def _count_down(counts: dict[Id, int], plant_id: Id) -> None:
    counts[plant_id] -= 1
    if not counts[plant_id]:
        del counts[plant_id]


_left_alone: set[asyncio.Task[Any]] = set()


async def bounded(seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """Its result. Raises TimeoutError when the time is up, even if the work does not end when it is cancelled."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait((task,), timeout=seconds)
    finally:
        if not task.done():
            task.cancel()
            _left_alone.add(task)
            task.add_done_callback(_look_away)
    if not task.done():
        raise TimeoutError(f"not done after {seconds:g} s")
    return task.result()


def _look_away(task: asyncio.Task[Any]) -> None:
    _left_alone.discard(task)
    if not task.cancelled():
        task.exception()
