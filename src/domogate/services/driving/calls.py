"""Calls to drivers with a deadline. The caller gets an answer at most 0.1 s after the deadline, even if the driver hangs.

A call runs in its own task, which is cancelled at the deadline. If the driver ignores the cancellation, the call is stuck. A
plant may have `MOST_IN_A_PLANT` calls at the same time. A stuck call counts until it ends. This code also refuses
reports with values outside their limits (Spec 8), and pictures that are too large or have a type that is not allowed.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from copy import copy
from typing import Any, Generic, TypeVar

import msgspec

from domogate.common.log import get_logger
from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout, Fault, Internal
from domogate.domain.ids import Id
from domogate.domain.states import (
    AutomationState,
    EnergyMeterState,
    LightState,
    PlugState,
    Reading,
    Report,
    ThermostatState,
    Unit,
)
from domogate.ports import Clock, Driver, Picture

_log = get_logger(__name__)

MOST_IN_A_PLANT = 4096
"""The number of calls that a plant may have at the same time, including stuck calls."""
_LEEWAY = 0.1
"""In seconds. The caller may wait this long after the deadline, until the driver's answer or the order's end is on disk."""
_CANCEL_GRACE = 0.25
"""In seconds. A call is stuck if the driver does not end it within this time after its cancellation."""
_STOP_GRACE, _LAST_WRITES = 1.0, 10.0
_LONGEST_CALL = 10.0
"""In seconds. Before a plant is handed over to another gateway, its running calls get this time to end."""

T = TypeVar("T")


class Outcome(Generic[T]):
    """The result of a call. Several callers can wait for it.

    Each caller waits with its own future. So if one caller is cancelled, the other callers still wait.
    """

    __slots__ = ("_loop", "_result", "_waiting")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._result: Any = None
        self._waiting: list[asyncio.Future[None]] | None = []
        """The futures of the waiting callers. None if the outcome already has a result."""

    def done(self) -> bool:
        return self._waiting is None

    def has_failed(self) -> bool:
        return isinstance(self._result, Internal)  # The gateway failed. Only the store knows whether the device got the order.

    def end(self, result: T | Fault) -> None:
        """Give the result to all callers. If the outcome already has a result, do nothing."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self._result = result
            for future in waiting:
                if not future.done():
                    future.set_result(None)

    async def wait(self) -> T:
        """Return the result, or raise a copy of the fault. The call continues if the caller is cancelled."""
        if self._waiting is not None:
            future = self._loop.create_future()
            self._waiting.append(future)
            await future
        if isinstance(self._result, Fault):
            raise copy(self._result)
        result: T = self._result
        return result


class DriverCall(msgspec.Struct, eq=False):
    """One running call to a driver."""

    due: float
    """The deadline, as a time of the event loop."""
    outcome: Outcome[Any]
    at_driver: bool = False
    """True while the driver works on the call. The call is cancelled at the deadline only if this is true."""
    on_late: Callable[[], Awaitable[None]] | None = None
    """This function is awaited if the deadline passes while the driver works on the call."""
    late: bool = False
    """Whether the deadline has passed."""
    stuck: bool = False
    task: asyncio.Task[None] | None = None

    def give_to_driver(self, on_late: Callable[[], Awaitable[None]] | None = None) -> None:
        self.at_driver = True
        self.on_late = on_late

    def take_back(self) -> None:
        """Remember that the driver has answered. From now on, the deadline does not cancel the call.

        The answer must still be written to disk. If this ends later than `_LEEWAY` after the deadline, the caller gets
        DeviceTimeout instead of the answer.
        """
        self.at_driver = False
        if not self.late:
            self.on_late = None


class DriverCalls:
    """The running driver calls of one plant."""

    def __init__(self, plant_id: Id, clock: Clock, on_end: Callable[[], None]) -> None:
        """`on_end` is called after each driver call."""
        self._plant_id = plant_id
        self._clock = clock
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()  # Kept, because in Python 3.11 each call of this function makes a system call.
        self.running = 0
        self.stuck = 0
        """The number of stuck calls."""
        self._tasks: dict[asyncio.Task[None], DriverCall] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = math.inf
        self._last_writes: set[asyncio.Task[None]] = set()

    def run(self, deadline: float, work: Callable[[DriverCall], Coroutine[Any, Any, T]]) -> Outcome[T]:
        """Start a call, and return its outcome. The outcome gets its result at the latest `_LEEWAY` after the deadline.

        Raises Internal if the plant has too many calls. Then `work` was not started, so the caller may try again.
        """
        if self.running >= MOST_IN_A_PLANT:
            busy = "the device was not asked: too many orders and questions of this plant are waiting"
            raise Internal(busy, is_temporary=True)
        loop = self._loop
        call = DriverCall(loop.time() + deadline - self._clock.now(), Outcome(loop))
        self.running += 1
        call.task = loop.create_task(self._run(call, work), name="driver call")
        self._tasks[call.task] = call
        if call.due < self._timer_at:
            self._set_timer(call.due)
        return call.outcome

    def _set_timer(self, at: float) -> None:
        """Set the timer for all running calls to the time `at`. One timer takes less time than a timer for each call."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = at
        self._timer = None if at == math.inf else self._loop.call_at(at, self._expire_calls)

    def _expire_calls(self) -> None:
        now, next_due = self._loop.time(), math.inf
        for call in tuple(self._tasks.values()):
            if call.due > now:
                next_due = min(next_due, call.due)
            elif not call.late:
                self._expire(call)
        self._set_timer(next_due)

    async def ask(self, deadline: float, work: Callable[[DriverCall], Coroutine[Any, Any, T]]) -> T:
        """Start a call, wait for it and return its result. Raises the fault of the call."""
        return await self.run(deadline, work).wait()

    async def finish(self) -> None:
        """Wait until the running calls have ended, but not longer than `_LONGEST_CALL`.

        Do not wait for stuck calls. These calls were cancelled, but their driver did not end them.
        """
        deadline = self._loop.time() + _LONGEST_CALL
        while self.running > self.stuck and (left := deadline - self._loop.time()) > 0:
            await asyncio.wait(self._tasks, timeout=min(left, _CANCEL_GRACE), return_when=asyncio.FIRST_COMPLETED)

    async def stop(self) -> None:
        """Cancel all calls, and complete running writes. Do not wait longer than `_STOP_GRACE` seconds for the drivers."""
        tasks = set(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_STOP_GRACE)
        if self._last_writes:
            await asyncio.wait(set(self._last_writes), timeout=_LAST_WRITES)

    async def _run(self, call: DriverCall, work: Callable[[DriverCall], Coroutine[Any, Any, T]]) -> None:
        result: T | Fault
        try:
            result = await work(call)
        except Fault as fault:
            result = fault
        except asyncio.CancelledError:
            result = DeviceTimeout("the device did not answer in time")
        except Exception as error:
            _log.error("call to a driver failed", plant_id=self._plant_id, exc_info=error)
            result = Internal("the call to the device failed")
        finally:
            self._end(call)
        # If the call was cancelled at its deadline, the caller is answered once the end of the order is on disk.
        if not (call.late and call.on_late is not None):
            call.outcome.end(result)

    def _end(self, call: DriverCall) -> None:
        assert call.task is not None
        del self._tasks[call.task]
        self.running -= 1
        if call.stuck:
            self.stuck -= 1
        self._on_end()

    def _expire(self, call: DriverCall) -> None:
        call.late = True
        loop = self._loop
        if not call.at_driver:
            loop.call_later(_LEEWAY, self._time_out, call)
            return
        assert call.task is not None
        call.task.cancel()
        loop.call_later(_CANCEL_GRACE, self._check_ended, call)
        if call.on_late is None:
            self._time_out(call)
        else:
            loop.call_later(_LEEWAY, self._time_out, call)
            writing = loop.create_task(self._end_late(call, call.on_late))
            self._last_writes.add(writing)
            writing.add_done_callback(self._last_writes.discard)

    async def _end_late(self, call: DriverCall, on_late: Callable[[], Awaitable[None]]) -> None:
        try:
            await on_late()
        finally:
            self._time_out(call)

    def _time_out(self, call: DriverCall) -> None:
        call.outcome.end(DeviceTimeout("the device did not answer in time"))

    def _check_ended(self, call: DriverCall) -> None:
        assert call.task is not None
        if not call.task.done():
            call.stuck = True
            self.stuck += 1
            _log.warning("a driver ignores the cancellation of a call", plant_id=self._plant_id, stuck=self.stuck)


async def ask_driver(
    driver: Driver, answering: Coroutine[Any, Any, T], module_id: Id, find_breach: Callable[[T], str | None]
) -> T:
    """Return the answer of a driver. Raises DeviceOffline, DeviceTimeout, DeviceRefused.

    If the driver raises any other error, it is logged, and DeviceRefused is raised. The same happens if `find_breach` refuses
    the answer.
    """
    try:
        answer = await answering
    except (DeviceOffline, DeviceTimeout, DeviceRefused):
        raise
    except Exception as error:
        _log.error("driver failed", driver=driver.name, module_id=module_id, exc_info=error)
        raise DeviceRefused("the driver of the device failed") from error
    if (breach := find_breach(answer)) is not None:
        _log.warning("answer refused", driver=driver.name, module_id=module_id, breach=breach)
        raise DeviceRefused("the device gave an answer that is not valid")
    return answer


# limits of what a driver may report

LARGEST_PICTURE = 1_048_576
_IMAGES = {"image/jpeg": b"\xff\xd8\xff", "image/png": b"\x89PNG\r\n\x1a\n"}
"""Image formats that browsers show and that cannot contain scripts, with the first bytes of each format."""

_Values = list[tuple[str, float, float, float]]
"""For each value: its name, the value, its lower limit and its upper limit."""


def _light(state: LightState) -> _Values:
    values: _Values = [] if state.level is None else [("level", state.level, 0, 100)]
    if (color := state.color) is not None:
        values += [("hue", color.hue, 0, 360), ("saturation", color.saturation, 0, 100), ("value", color.value, 0, 100)]
    return values


def _automation(state: AutomationState) -> _Values:
    return [("position", state.position, 0, 100)]


def _thermostat(state: ThermostatState) -> _Values:
    values: _Values = [("set point", state.set_point, 3, 40), *_readings((("humidity", state.humidity),))]
    return values if state.program is None else [*values, ("program", state.program, 0, 11)]


def _plug(state: PlugState) -> _Values:
    values: _Values = [] if state.power is None else [("power", state.power.value, 0, 100_000)]
    if state.energy is not None:
        values.append(("energy", state.energy.value, 0, 100_000))
    return values


def _meter(state: EnergyMeterState) -> _Values:
    return _readings((("power", state.power), ("energy", state.energy)))


_MOST = 1e15  # The contract does not limit the count of a meter. But sums of much larger numbers could overflow.
_ANY = (-_MOST, _MOST)
_LIMITS: dict[Unit, tuple[float, float]] = {Unit.WATT: (0, _MOST), Unit.WATT_HOUR: (0, _MOST), Unit.PERCENT: (0, 100)}


def _readings(readings: Iterable[tuple[str, Reading | None]]) -> _Values:
    return [(what, reading.value, *_LIMITS.get(reading.unit, _ANY)) for what, reading in readings if reading is not None]


_LIMITED: dict[type, Callable[[Any], _Values]] = {
    LightState: _light,
    AutomationState: _automation,
    ThermostatState: _thermostat,
    PlugState: _plug,
    EnergyMeterState: _meter,
}


def find_breach(report: Report) -> str | None:
    """Return a text about the first value in the report that is outside its limits or not a number. None if there is none."""
    try:
        list_values = _LIMITED.get(type(report.state))
        for what, value, low, high in () if list_values is None else list_values(report.state):
            if not low <= value <= high:
                return f"{what} is {value}, outside {low}..{high}"
        for what, reading in report.readings:
            low, high = _LIMITS.get(reading.unit, _ANY)
            if not low <= reading.value <= high:
                return f"{what} is {reading.value}, outside {low}..{high}"
    except (AttributeError, TypeError) as error:
        return f"not a valid report: {error}"
    return None


def find_picture_breach(picture: Picture) -> str | None:
    """Return the reason why the picture must not be shown, or None if the picture is valid."""
    first_bytes = _IMAGES.get(picture.media_type)
    if first_bytes is None:
        return f"the type is {picture.media_type!r}; allowed are {', '.join(_IMAGES)}"
    if not picture.content.startswith(first_bytes):
        return f"the content is not {picture.media_type}"
    if len(picture.content) > LARGEST_PICTURE:
        return f"the picture has {len(picture.content)} bytes; the limit is {LARGEST_PICTURE}"
    return None
