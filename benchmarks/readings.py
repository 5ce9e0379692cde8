"""A million readings: their size on disk, and the time to record, read and summarise them."""

import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import Connection

from benchmarks.bounds import readings_in_sqlite
from benchmarks.estates import USER, build_plant
from benchmarks.scenarios import Row, Scenario, at_most, compare_rounds
from domogate.app.parts import SystemClock
from domogate.domain.estate import Estate
from domogate.domain.ids import Id
from domogate.domain.states import Reading, Report, Unit
from domogate.stores import SqlStore, sqlite_url
from domogate.stores.direct import Write
from domogate.stores.recorder import SLOT_MS

_MILLION = 1_000_000
_BEGIN = 1_800_000_000.0
_MODULES = 500
_EVERY = 10.0
"""Seconds between two reports of a module. Each report has power and energy, so a million readings are almost three hours."""
_PARTS = 5
"""The readings are measured in parts. Each part is compared with SQLite alone, because the speed of the machine changes."""
_QUESTIONS = 200
_LEAST_SHARE, _GOAL = 0.45, 120_000
"""The smallest allowed ratio of the readings to what SQLite alone writes, and the goal per CPU-second."""


class _TimedStore(SqlStore):
    """Measures the longest time between two commits. Other writers have to wait for this time."""

    longest = 0.0
    _last = 0.0

    def commit(self, connection: Connection, last_writes: Sequence[Write] = (), *, has_written: bool = True) -> None:
        super().commit(connection, last_writes, has_written=has_written)
        now = time.perf_counter()
        self.longest, self._last = max(self.longest, now - self._last), now

    def begin(self) -> None:
        self.longest, self._last = 0.0, time.perf_counter()


async def million_readings() -> AsyncIterator[Row]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "domogate.db"
        store = _TimedStore(sqlite_url(path), clock=SystemClock(), gateway=False)
        await store.start()
        try:
            async for row in _measure(store, path):
                yield row
        finally:
            await store.stop()


async def _measure(store: _TimedStore, path: Path) -> AsyncIterator[Row]:
    house = build_plant(0, _MODULES)
    await store.import_estate(Estate(users=(USER,), plants=(house,)), prune=False)
    modules = [module.id for module in house.topology.every_module()]
    rounds = _MILLION // (2 * len(modules))
    until = _BEGIN + rounds * _EVERY

    before = path.stat().st_size
    recorded = 0.0
    spent, spent_alone = [0.0] * _PARTS, [0.0] * _PARTS
    with readings_in_sqlite() as write_alone:
        for number in range(rounds):
            part = number * _PARTS // rounds
            reports = _reports(house.plant.id, modules, number)
            started, cpu = time.perf_counter(), time.process_time()
            await store.record(reports)
            recorded += time.perf_counter() - started
            spent[part] += time.process_time() - cpu
            spent_alone[part] += write_alone(_rows(modules, number))
    await store.stop()  # Moves the rest of the write-ahead log into the file.
    size = path.stat().st_size - before
    await store.start()
    yield at_most("a million readings: stored in", size / 1e6, 40, " MB")
    yield Row("a million readings: recorded in", f"{recorded:.1f} s ({sum(spent):.1f} s CPU)")
    yield compare_rounds(
        "readings recorded per CPU-second / the most that are possible with SQLite alone",
        [_MILLION / _PARTS / seconds for seconds in spent],
        [_MILLION / _PARTS / seconds for seconds in spent_alone],
        _LEAST_SHARE,
        goal=_GOAL,
    )

    started = time.perf_counter()
    for number in range(_QUESTIONS):
        await store.list_summaries(modules[number % len(modules)], _BEGIN, until, 300.0, 1_000)
    asked = (time.perf_counter() - started) / _QUESTIONS
    yield Row("three hours of a module's readings, in summaries of five minutes", f"{asked * 1000:.1f} ms")

    store.begin()
    started = time.perf_counter()
    await store.summarise_readings(until + 3600.0)
    summarised = time.perf_counter() - started
    yield Row("a million readings: summarised in", f"{summarised:.1f} s (others wait {store.longest * 1000:.0f} ms at most)")


def _reports(plant_id: Id, modules: Sequence[Id], number: int) -> list[Report]:
    at = _BEGIN + number * _EVERY
    return [
        Report(
            plant_id,
            module_id,
            at,
            readings=(
                ("power", Reading(40 + (number * 7 + place) % 100 / 10, Unit.WATT, at + place / 1000)),
                ("energy", Reading(float(number + place), Unit.WATT_HOUR, at + place / 1000)),
            ),
        )
        for place, module_id in enumerate(modules)
    ]


def _rows(modules: Sequence[Id], number: int) -> list[tuple[int, int, int, float]]:
    """Return the rows of the same readings for SQLite alone: slot, series, millisecond and value."""
    slot, ms = divmod(round((_BEGIN + number * _EVERY) * 1000), SLOT_MS)
    return [(slot, series, ms + series // 2, float(number + series)) for series in range(2 * len(modules))]


READINGS: dict[str, Scenario] = {"readings": million_readings}
