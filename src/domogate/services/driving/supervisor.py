"""Keeping drivers running: each is started, watched, and started again when it fails, without holding up any other.

What a driver can mend itself it mends. When it says that it cannot go on, it is stopped, left alone for a while (longer each
time, by chance, so that many gateways do not come back at once) and started again; its plants are then attached anew.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import StrEnum

import msgspec
import structlog

from domogate.domain.reachability import Absence, AbsenceReason
from domogate.ports import Clock, Driver, ReportSink
from domogate.services.driving.calls import bounded

_log = structlog.get_logger(__name__)

_START_DEADLINE = 30.0
_STOP_DEADLINE = 10.0
_FIRST_START = 2.0
"""For so long the gateway waits for its drivers before it is ready without them."""
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
_HEALTHY_AFTER = 60.0
"""A driver that ran for so long begins again with the shortest pause."""
_LONGEST_EVIDENCE = 200


class DriverCondition(StrEnum):
    STARTING = "starting"
    RUNNING = "running"
    DOWN = "down"
    """It failed, and is started again in a moment."""
    STOPPED = "stopped"


class DriverHealth(msgspec.Struct, frozen=True):
    """How a driver fares, for the operator."""

    name: str
    condition: DriverCondition
    since: float
    restarts: int = 0
    last_error: str = ""
    last_error_at: float | None = None
    next_start_at: float | None = None
    plants: int = 0
    """Plants that are attached to it."""
    waiting_reports: int = 0
    stuck_calls: int = 0
    """Calls to devices of its plants that did not end when their time was up."""


def describe(error: BaseException) -> str:
    """An error in words that fit into one line of a table."""
    said = " ".join(str(error).split())
    text = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return text if len(text) <= _LONGEST_EVIDENCE else f"{text[: _LONGEST_EVIDENCE - 1]}…"


def absence_after(error: BaseException, since: float) -> Absence:
    """Why the modules of a driver are away that failed like this. What nobody can mend by waiting is a matter of settings."""
    misconfigured = isinstance(error, ValueError | TypeError | LookupError)
    return Absence(AbsenceReason.MISCONFIGURED if misconfigured else AbsenceReason.CONNECTION_LOST, since, describe(error))


class _Supervised:
    """One driver and how it fares."""

    def __init__(self, driver: Driver, now: float) -> None:
        self.driver = driver
        self.condition = DriverCondition.STARTING
        self.since = now
        self.restarts = 0
        self.error: BaseException | None = None
        self.error_at: float | None = None
        self.next_start_at: float | None = None
        self.tried = asyncio.Event()
        """Its first start came to something, good or bad."""
        self.task: asyncio.Task[None] | None = None

    def become(self, condition: DriverCondition, now: float) -> None:
        self.condition, self.since = condition, now


class Supervisor:
    """Starts, watches and restarts drivers. `on_up` and `on_down` are awaited with the driver's name as it comes and goes."""

    def __init__(
        self,
        drivers: Mapping[str, Driver],
        clock: Clock,
        *,
        sink_of: Callable[[str], ReportSink],
        on_up: Callable[[str], Awaitable[None]],
        on_down: Callable[[str], Awaitable[None]],
        chance: random.Random | None = None,
    ) -> None:
        self._clock = clock
        self._sink_of = sink_of
        self._on_up = on_up
        self._on_down = on_down
        self._chance = chance or random.Random()  # noqa: S311 - it spreads restarts, and keeps no secret
        self._drivers = {name: _Supervised(driver, clock.now()) for name, driver in drivers.items()}

    @property
    def names(self) -> Sequence[str]:
        return tuple(self._drivers)

    def find(self, name: str) -> Driver | None:
        """The driver, if it is running."""
        supervised = self._drivers.get(name)
        return supervised.driver if supervised is not None and supervised.condition is DriverCondition.RUNNING else None

    def absence_of(self, name: str) -> Absence:
        """Why the modules of a driver that is not running cannot be reached."""
        supervised = self._drivers.get(name)
        if supervised is None:
            return Absence(AbsenceReason.MISCONFIGURED, self._clock.now(), f"no driver '{name}' is set up")
        if supervised.error is None:
            return Absence(AbsenceReason.CONNECTION_LOST, supervised.since, f"the driver '{name}' is {supervised.condition}")
        return absence_after(supervised.error, supervised.since)

    def list_health(self) -> list[DriverHealth]:
        return [
            DriverHealth(
                name,
                supervised.condition,
                supervised.since,
                supervised.restarts,
                "" if supervised.error is None else describe(supervised.error),
                supervised.error_at,
                supervised.next_start_at,
            )
            for name, supervised in self._drivers.items()
        ]

    # lifecycle

    async def start(self) -> None:
        """Start all at once, and give them a moment: one that does not come up holds up nobody."""
        for name, supervised in self._drivers.items():
            supervised.task = asyncio.create_task(self._keep_running(name, supervised), name=f"driver {name}")
        tried = [asyncio.ensure_future(supervised.tried.wait()) for supervised in self._drivers.values()]
        if tried:
            _, waiting = await asyncio.wait(tried, timeout=_FIRST_START)
            for wait in waiting:
                wait.cancel()

    async def stop(self) -> None:
        tasks = [supervised.task for supervised in self._drivers.values() if supervised.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(self._stop_driver(name, supervised) for name, supervised in self._drivers.items()))

    async def _keep_running(self, name: str, supervised: _Supervised) -> None:
        failures = 0
        while True:
            error = await self._start_driver(name, supervised)
            if error is None:
                begun = self._clock.now()
                error = await self._run(name, supervised)
                if self._clock.now() - begun >= _HEALTHY_AFTER:
                    failures = 0
            failures += 1
            pause = self._chance.uniform(0, min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** min(failures - 1, 16)))
            now = self._clock.now()
            supervised.error, supervised.error_at, supervised.next_start_at = error, now, now + pause
            supervised.become(DriverCondition.DOWN, now)
            supervised.tried.set()
            _log.error("driver is down, its modules are offline", driver=name, again_in=round(pause, 1), exc_info=error)
            await self._tell(self._on_down, name)
            await self._stop_driver(name, supervised)
            await asyncio.sleep(pause)
            supervised.restarts += 1
            supervised.next_start_at = None
            supervised.become(DriverCondition.STARTING, self._clock.now())

    async def _start_driver(self, name: str, supervised: _Supervised) -> BaseException | None:
        try:
            await bounded(_START_DEADLINE, supervised.driver.start(self._sink_of(name)))
        except Exception as error:
            return error
        return None

    async def _run(self, name: str, supervised: _Supervised) -> BaseException:
        """What ended it."""
        supervised.become(DriverCondition.RUNNING, self._clock.now())
        supervised.tried.set()
        if supervised.restarts:
            _log.info("driver is running again", driver=name, restarts=supervised.restarts)
        telling = asyncio.create_task(self._tell(self._on_up, name), name=f"attaching anew to driver {name}")
        try:
            return await supervised.driver.wait_failed()
        except Exception as error:
            return error
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)

    async def _tell(self, listener: Callable[[str], Awaitable[None]], name: str) -> None:
        try:
            await listener(name)
        except Exception as error:
            _log.error("what follows a driver's coming or going was not done", driver=name, exc_info=error)

    async def _stop_driver(self, name: str, supervised: _Supervised) -> None:
        try:
            await bounded(_STOP_DEADLINE, supervised.driver.stop())
        except Exception as error:
            _log.error("driver did not stop", driver=name, exc_info=error)
        if supervised.condition is not DriverCondition.DOWN:
            supervised.become(DriverCondition.STOPPED, self._clock.now())
