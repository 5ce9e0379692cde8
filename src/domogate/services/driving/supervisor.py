"""Supervises drivers: starts each driver, watches it, and restarts it when it fails. Drivers do not delay each other.

A driver handles its own connection errors. When the whole driver fails, it is stopped, restarted after a pause, and its plants
are attached again. The pause is random, so the gateways of a cluster do not all reconnect at the same time. Its upper limit
doubles with each failure, up to `_LONGEST_PAUSE`.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import StrEnum

import msgspec

from domogate.common.log import get_logger
from domogate.common.tasks import bounded, cancel
from domogate.domain.reachability import Absence, AbsenceReason, Evidence
from domogate.ports import Clock, ConnectionHealth, Driver, HasConnections, ReportSink

_log = get_logger(__name__)

_START_DEADLINE = 30.0
_STOP_DEADLINE = 10.0
_FIRST_START = 2.0
"""In seconds. The gateway waits at most this long for its drivers before it is ready."""
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
_HEALTHY_AFTER = 60.0
"""In seconds. After this time without a failure, the upper limit of the next pause is `_FIRST_PAUSE` again."""
_LONGEST_TEXT = 200


class DriverCondition(StrEnum):
    STARTING = "starting"
    RUNNING = "running"
    DOWN = "down"
    """The driver failed and is restarted after a pause."""
    STOPPED = "stopped"


class DriverHealth(msgspec.Struct, frozen=True):
    """The health of a driver, for the operator."""

    name: str
    condition: DriverCondition
    since: float
    restarts: int = 0
    last_error: str = ""
    last_error_at: float | None = None
    next_start_at: float | None = None
    plants: int = 0
    """The number of plants that are attached to the driver."""
    waiting_reports: int = 0
    stuck_calls: int = 0
    """The number of stuck calls of the driver's plants: calls that did not end when they were cancelled."""
    connections: tuple[ConnectionHealth, ...] = ()
    """The connections to brokers or OpenWebNet gateways. A driver that is not running has no connections."""


def describe(error: BaseException) -> str:
    """Return the text of an error, short enough for one line of a table."""
    message = " ".join(str(error).split())
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"


def absence_after(error: BaseException, since: float) -> Absence:
    """Return the absence of the modules of a driver that failed with this error.

    ValueError, TypeError and LookupError mean that the configuration is wrong. Then the reason is MISCONFIGURED. After other
    errors, the reason is CONNECTION_LOST.
    """
    misconfigured = isinstance(error, ValueError | TypeError | LookupError)
    return Absence(AbsenceReason.MISCONFIGURED if misconfigured else AbsenceReason.CONNECTION_LOST, since, describe(error))


class _Supervised:
    """One driver, and whether it is starting, running or failed."""

    def __init__(self, driver: Driver, now: float) -> None:
        self.driver = driver
        self.condition = DriverCondition.STARTING
        self.since = now
        self.restarts = 0
        self.error: BaseException | None = None
        self.error_at: float | None = None
        self.next_start_at: float | None = None
        self.tried = asyncio.Event()
        """Set when the first start has succeeded or failed."""
        self.task: asyncio.Task[None] | None = None

    def enter(self, condition: DriverCondition, now: float) -> None:
        self.condition, self.since = condition, now


def _list_connections(supervised: _Supervised) -> tuple[ConnectionHealth, ...]:
    driver = supervised.driver
    if supervised.condition is not DriverCondition.RUNNING or not isinstance(driver, HasConnections):
        return ()
    return tuple(driver.list_connections())


class Supervisor:
    """Starts, watches and restarts drivers.

    `on_up` is awaited after a driver has started. `on_down` is awaited when the driver has failed or is replaced. Both get the
    name of the driver.
    """

    def __init__(
        self,
        drivers: Mapping[str, Driver],
        clock: Clock,
        *,
        sink_of: Callable[[str], ReportSink],
        on_up: Callable[[str], Awaitable[None]],
        on_down: Callable[[str], Awaitable[None]],
        random_source: random.Random | None = None,
    ) -> None:
        self._clock = clock
        self._sink_of = sink_of
        self._on_up = on_up
        self._on_down = on_down
        self._random = random_source or random.SystemRandom()
        self._drivers = {name: _Supervised(driver, clock.now()) for name, driver in drivers.items()}

    @property
    def names(self) -> Sequence[str]:
        return tuple(self._drivers)

    def find(self, name: str) -> Driver | None:
        """Return the driver with this name. Return None if it is not running."""
        supervised = self._drivers.get(name)
        return supervised.driver if supervised is not None and supervised.condition is DriverCondition.RUNNING else None

    def absence_of(self, name: str) -> Absence:
        """Return the absence of the modules of this driver. The absence says why the driver is not running."""
        supervised = self._drivers.get(name)
        if supervised is None:
            return Absence.of(AbsenceReason.MISCONFIGURED, self._clock.now(), Evidence.NO_DRIVER, driver=name)
        if supervised.error is None:
            starting = supervised.condition is DriverCondition.STARTING
            evidence = Evidence.DRIVER_STARTING if starting else Evidence.DRIVER_STOPPED
            return Absence.of(AbsenceReason.CONNECTION_LOST, supervised.since, evidence, driver=name)
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
                connections=_list_connections(supervised),
            )
            for name, supervised in self._drivers.items()
        ]

    # lifecycle

    async def start(self) -> None:
        """Start all drivers at the same time. A driver that does not start delays the gateway by two seconds at most."""
        for name, supervised in self._drivers.items():
            supervised.task = asyncio.create_task(self._keep_running(name, supervised), name=f"driver {name}")
        tried = [asyncio.ensure_future(supervised.tried.wait()) for supervised in self._drivers.values()]
        if tried:
            _, waiting = await asyncio.wait(tried, timeout=_FIRST_START)
            for wait in waiting:
                wait.cancel()

    async def replace(self, name: str, driver: Driver) -> None:
        """Stop a driver, and start another one in its place. The plants are attached to the new driver."""
        supervised = self._drivers[name]
        if supervised.task is None:  # The drivers are not started yet.
            supervised.driver = driver
            return
        await cancel(supervised.task)
        supervised.enter(DriverCondition.STARTING, self._clock.now())
        supervised.error = supervised.error_at = supervised.next_start_at = None
        await self._call(self._on_down, name)
        await self._stop_driver(name, supervised)
        supervised.enter(DriverCondition.STARTING, self._clock.now())
        supervised.driver = driver
        supervised.task = asyncio.create_task(self._keep_running(name, supervised), name=f"driver {name}")

    async def stop(self) -> None:
        await cancel(*(supervised.task for supervised in self._drivers.values()))
        await asyncio.gather(*(self._stop_driver(name, supervised) for name, supervised in self._drivers.items()))

    async def _keep_running(self, name: str, supervised: _Supervised) -> None:
        failures = 0
        while True:
            error = await self._start_driver(name, supervised)
            if error is None:
                started_at = self._clock.now()
                error = await self._run(name, supervised)
                if self._clock.now() - started_at >= _HEALTHY_AFTER:
                    failures = 0
            failures += 1
            pause = self._random.uniform(0, min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** min(failures - 1, 16)))
            now = self._clock.now()
            supervised.error, supervised.error_at, supervised.next_start_at = error, now, now + pause
            supervised.enter(DriverCondition.DOWN, now)
            supervised.tried.set()
            _log.error("driver is down, its modules are offline", driver=name, restart_in=round(pause, 1), exc_info=error)
            await self._call(self._on_down, name)
            await self._stop_driver(name, supervised)
            await asyncio.sleep(pause)
            supervised.restarts += 1
            supervised.next_start_at = None
            supervised.enter(DriverCondition.STARTING, self._clock.now())

    async def _start_driver(self, name: str, supervised: _Supervised) -> BaseException | None:
        try:
            await bounded(_START_DEADLINE, supervised.driver.start(self._sink_of(name)))
        except Exception as error:
            return error
        return None

    async def _run(self, name: str, supervised: _Supervised) -> BaseException:
        """Run the driver until it fails. Return the error."""
        supervised.enter(DriverCondition.RUNNING, self._clock.now())
        supervised.tried.set()
        if supervised.restarts:
            _log.info("driver is running again", driver=name, restarts=supervised.restarts)
        calling = asyncio.create_task(self._call(self._on_up, name), name=f"attach plants to driver {name}")
        try:
            return await supervised.driver.wait_failed()
        except Exception as error:
            return error
        finally:
            await cancel(calling)

    async def _call(self, listener: Callable[[str], Awaitable[None]], name: str) -> None:
        try:
            await listener(name)
        except Exception as error:
            _log.error("reaction to a change of a driver failed", driver=name, exc_info=error)

    async def _stop_driver(self, name: str, supervised: _Supervised) -> None:
        try:
            await bounded(_STOP_DEADLINE, supervised.driver.stop())
        except Exception as error:
            _log.error("driver did not stop", driver=name, exc_info=error)
        if supervised.condition is not DriverCondition.DOWN:
            supervised.enter(DriverCondition.STOPPED, self._clock.now())
