"""Writes the reports of drivers: last states, readings, changes and logbook entries.

This code runs for each report. So it must be fast.
"""

from collections.abc import Callable, Collection, Sequence
from itertools import chain
from math import isfinite
from typing import Any

import msgspec
from sqlalchemy import Connection, bindparam, insert, select

from domogate.domain.devices import EMERGENCY_KINDS
from domogate.domain.events import ChangesLost, Event, PlantChanged, StateChanged
from domogate.domain.ids import Id
from domogate.domain.logbook import LogbookEntry, entries_of
from domogate.domain.plants import SIMULATED_DRIVERS
from domogate.domain.reachability import Absence
from domogate.domain.states import EmergencyState, Report, State
from domogate.stores.codec import decode_absence, decode_state, to_json, to_json_or_none
from domogate.stores.direct import execute_text
from domogate.stores.engine import Database, Transaction, chunked, execute_many
from domogate.stores.entries import log_entries
from domogate.stores.tables.devices import recent_readings, series
from domogate.stores.tables.plants import modules, states

KNOWN_LIMIT = 200_000
SLOT_MS = 600_000
"""The length of a slot in milliseconds. Readings are grouped by slots, periods of this length (Decision 0146)."""
LATEST = 1e11
"""The latest time that a reading may have, in seconds since the epoch."""

Prepared = list[tuple[Report, str | None]]

_MODULES = select(modules.c.id, modules.c.plant_id, modules.c.kind, modules.c.name, modules.c.driver, states.c.reachable).join(
    states, isouter=True
)
_STATES_OF = select(states.c.module_id, states.c.state, states.c.reachable, states.c.absence).where(
    states.c.module_id.in_(bindparam("ids", expanding=True))
)

SERIES = select(series.c.id, series.c.module_id, series.c.measure, series.c.unit)
_INSERT_SERIES = insert(series)
_READING_COLUMNS = recent_readings.columns.keys()
_STATE_COLUMNS = states.columns.keys()


def to_moment(at: float) -> int:
    """Return the time in milliseconds since the epoch."""
    return round(at * 1000)


class _Latest(msgspec.Struct, frozen=True):
    """The last state of a module. A stored state is kept as text, and is decoded at its first use."""

    state: State | None
    text: str | None
    reachable: bool
    absence: Absence | None


_NEVER_REPORTED = _Latest(None, None, True, None)


def state_to_json(module_id: str, state: State) -> str:
    """Return the state as JSON.

    Raises ValueError for a state that would be different when it is read from the store. An example is a state with NaN,
    which JSON does not have.
    """
    text = to_json(state)
    try:
        same = decode_state(text) == state
    except msgspec.ValidationError:
        same = False
    if not same:
        raise ValueError(f"the state of module {module_id} cannot be stored unchanged: {state}")
    return text


def prepare(reports: Sequence[Report]) -> Prepared:
    """Check and encode the reports before they are merged with the reports of other callers.

    Raises ValueError for a number or a time that cannot be stored.
    """
    prepared: Prepared = []
    for report in reports:
        text = None if report.state is None else state_to_json(report.module_id, report.state)
        if not isfinite(report.at) or (report.absence is not None and not isfinite(report.absence.since)):
            raise ValueError(f"module {report.module_id} reported a number that is not finite")
        for _, reading in report.readings:
            if not isfinite(reading.value):
                raise ValueError(f"module {report.module_id} reported a number that is not finite")
            if not 0.0 <= reading.at <= LATEST:
                raise ValueError(f"module {report.module_id} reported a reading with an impossible time")
        prepared.append((report, text))
    return prepared


class ReadingWriter:
    """Writes readings. Each series has a number in the database; these numbers are cached until a plant changes."""

    def __init__(self, database: Database) -> None:
        self._upsert = database.bulk(database.upsert(recent_readings))
        self._series: dict[tuple[str, str, str], int] = {}
        self._looked_up: set[str] = set()

    def forget(self) -> None:
        self._series.clear()
        self._looked_up.clear()

    def keep(self, tx: Transaction, reports: Sequence[Report]) -> None:
        """Write the readings of the reports. Their modules must exist.

        A stored reading of the same series and millisecond is replaced.
        """
        try:
            rows = self._to_rows(reports)
        except KeyError:
            self._find(
                tx,
                {(report.module_id, measure, reading.unit.value) for report in reports for measure, reading in report.readings},
            )
            rows = self._to_rows(reports)
        tx.write(self._upsert, _READING_COLUMNS, rows)

    def _to_rows(self, reports: Sequence[Report]) -> list[tuple[int, int, int, float]]:
        numbers = self._series
        rows = []
        for report in reports:
            module_id = report.module_id
            for measure, reading in report.readings:
                slot, ms = divmod(round(reading.at * 1000), SLOT_MS)
                rows.append((slot, numbers[module_id, measure, reading.unit], ms, reading.value))
        return rows

    def _find(self, tx: Transaction, keys: set[tuple[str, str, str]]) -> None:
        unknown = [key for key in keys if key not in self._series]
        self._look_up(tx, {module_id for module_id, _, _ in unknown} - self._looked_up)
        new = sorted(key for key in unknown if key not in self._series)
        execute_many(
            tx.connection,
            _INSERT_SERIES,
            [{"module_id": module_id, "measure": measure, "unit": unit} for module_id, measure, unit in new],
        )
        self._look_up(tx, {module_id for module_id, _, _ in new})

    def _look_up(self, tx: Transaction, module_ids: Collection[str]) -> None:
        if module_ids:
            for number, module_id, measure, unit in tx.database.find_rows(
                tx.connection, series.c.module_id, module_ids, SERIES
            ):
                self._series[module_id, measure, unit] = number
            self._looked_up.update(module_ids)


class Recorder:
    """Writes the reports of many callers with a few statements.

    It caches the plant of each module, and whether the module is unreachable. The cache is correct whenever it is used. Before
    a transaction with the exclusive lock (Decision 0086) runs, the writer has read all changes of other processes. It has also
    removed the changed modules from this cache. At the start of a transaction with the shared lock, `begin_shared` clears the
    cache if it may be wrong.
    """

    def __init__(self, database: Database) -> None:
        self._upsert_states = database.bulk(database.upsert(states))
        self._readings = ReadingWriter(database)
        self._plant_of: dict[str, Id] = {}
        self._unreachable: set[str] = set()
        self._epochs: dict[int, int] = {}
        """The epoch of each shard whose modules are in the cache."""
        self.structure = 0
        """The value of `TransactionStart.structure` for which the cache is correct.

        If a transaction begins with another value, another process has changed plants or states.
        """
        self._logged: dict[str, tuple[str, bool]] = {}
        """Emergency units and controllers, whose reports are also written to the logbook.

        The values are the name of the module, and whether the module is simulated.
        """

    def forget(self) -> None:
        self._epochs.clear()
        self._plant_of.clear()
        self._unreachable.clear()
        self._logged.clear()
        self._readings.forget()

    def attempt(self, tx: Transaction, run: Callable[[], None], *, guarded: bool) -> Exception | None:
        """Call `run`, which may use this recorder. Return its error, or None if it succeeds.

        `guarded` is true if the transaction also has writes that `run` does not make. Then `run` is called in a savepoint. So
        an error of `run` does not affect these other writes.
        """
        before = len(tx.events)
        if guarded:
            execute_text(tx.connection, "SAVEPOINT unit")
        try:
            run()
        except Exception as error:
            del tx.events[before:]
            self.forget()
            if guarded:
                try:
                    execute_text(tx.connection, "ROLLBACK TO SAVEPOINT unit")
                except Exception:  # The database has ended the whole transaction, as SQLite does when the disk is full.
                    raise error from None
            return error
        if guarded:
            execute_text(tx.connection, "RELEASE SAVEPOINT unit")
        return None

    def begin_shared(self, structure: int, fences: Collection[tuple[int, int]]) -> None:
        """Clear the cache if it may be wrong. Call this at the start of a transaction with the shared lock.

        With the shared lock, several gateways write at the same time. This gateway does not read their changes before such a
        transaction. So its cache may be wrong. `structure` identifies the last transaction that changed plants or states with
        the exclusive lock. If it is new to this recorder, another process has changed plants or states. `fences` has
        shards with their epochs. If an epoch is new to this recorder, another gateway may have held this shard. In both cases
        the modules are read from the store again.
        """
        if structure != self.structure or any(self._epochs.get(shard) != epoch for shard, epoch in fences):
            self.forget()
        self.structure = structure
        self._epochs.update(fences)

    def forget_after(self, events: Sequence[Event]) -> None:
        """Forget the modules that these events changed. After PlantChanged or ChangesLost, forget the whole cache."""
        for event in events:
            if type(event) in (PlantChanged, ChangesLost):
                self.forget()
                return
            if type(event) is StateChanged:
                self._plant_of.pop(event.module_id, None)
                self._unreachable.discard(event.module_id)

    def record(self, tx: Transaction, calls: Sequence[Prepared]) -> None:
        """Write all reports in order. If a module has several reports, its last report gives its state."""
        reporting = {report.module_id for report, _ in chain.from_iterable(calls)}
        self._find_plants(tx, reporting)
        latest = self._find_latest(tx.connection, calls)
        entries: list[LogbookEntry] = []
        changed: dict[str, float] = {}
        flipped: set[str] = set()
        measured: list[Report] = []
        for report, text in chain.from_iterable(calls):
            module_id = report.module_id
            plant_id = self._plant_of.get(module_id)
            if plant_id is None:
                continue
            if report.readings:
                measured.append(report)
            reachable = report.reachable
            absence = None if reachable else report.absence
            state = report.state
            if state is None:
                known = latest.get(module_id, _NEVER_REPORTED)
                # Reachability and its reason are unchanged.
                if reachable == known.reachable and absence in (None, known.absence):
                    continue
                text = known.text
                state = known.state if known.state is not None or text is None else decode_state(text)
            before = latest.get(module_id, _NEVER_REPORTED)
            latest[module_id] = _Latest(state, text, reachable, absence)
            changed[module_id] = report.at
            turned = reachable == ((module_id in self._unreachable) != (module_id in flipped))
            if turned:
                flipped ^= {module_id}
            event = StateChanged(
                plant_id=plant_id,
                module_id=Id(module_id),
                state=state,
                reachable=reachable,
                at=report.at,
                absence=absence,
                turned=turned,
            )
            tx.emit(event)
            if module_id in self._logged:
                name, simulated = self._logged[module_id]
                entries += entries_of(_emergency(before), event, name, simulated=simulated)
        rows = [_to_row(module_id, latest[module_id], at) for module_id, at in changed.items()]
        tx.write(self._upsert_states, _STATE_COLUMNS, rows)
        if measured:
            self._readings.keep(tx, measured)
        if entries:
            log_entries(tx, entries)
        self._unreachable ^= flipped

    def _find_plants(self, tx: Transaction, module_ids: set[str]) -> None:
        unknown = {module_id for module_id in module_ids if module_id not in self._plant_of}
        if len(self._plant_of) + len(unknown) > KNOWN_LIMIT:
            self.forget()
            unknown = module_ids
        if not unknown:
            return
        for module_id, plant_id, kind, name, driver, reachable in tx.database.find_rows(
            tx.connection, modules.c.id, unknown, _MODULES
        ):
            self._plant_of[module_id] = plant_id
            if kind in EMERGENCY_KINDS:
                self._logged[module_id] = (name, driver in SIMULATED_DRIVERS)
            if reachable is not None and not reachable:  # None: the module never reported. It counts as reachable.
                self._unreachable.add(module_id)

    def _find_latest(self, connection: Connection, calls: Sequence[Prepared]) -> dict[str, _Latest]:
        """Return the stored states that `record` needs.

        `record` needs the state of a module if its reports are also written to the logbook. It also needs the state for a
        report without a state, if the module is unreachable before or after this report.
        """
        needed = {
            report.module_id
            for report, text in chain.from_iterable(calls)
            if (text is None and (not report.reachable or report.module_id in self._unreachable))
            or report.module_id in self._logged
        }
        found: dict[str, _Latest] = {}
        for ids in chunked(needed):
            for module_id, text, reachable, absence in connection.execute(_STATES_OF, {"ids": ids}):
                found[module_id] = _Latest(None, text, reachable, None if absence is None else decode_absence(absence))
        return found


def _to_row(module_id: str, latest: _Latest, at: float) -> tuple[Any, ...]:
    return module_id, latest.text, latest.reachable, at, to_json_or_none(latest.absence)


def _emergency(known: _Latest) -> EmergencyState | None:
    state = known.state if known.state is not None or known.text is None else decode_state(known.text)
    return state if isinstance(state, EmergencyState) else None
