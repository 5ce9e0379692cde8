"""What drivers reported: last states, and readings as history. `Recorder` is the hot write path."""

from collections.abc import Sequence
from itertools import chain
from math import isfinite

import msgspec
from sqlalchemy import Connection, bindparam, delete, select, tuple_

from domogate.domain.events import Event, PlantChanged, StateChanged
from domogate.domain.ids import Id
from domogate.domain.states import Reading, Report, State, Unit
from domogate.stores.codec import decode_state, to_json
from domogate.stores.engine import Database, chunked, execute_many
from domogate.stores.tables import changes, modules, readings, states
from domogate.stores.transaction import Transaction

KNOWN_LIMIT = 200_000
PRUNE_CHUNK = 1_000

Prepared = list[tuple[Report, str | None]]

_PLANTS_OF = select(modules.c.id, modules.c.plant_id).where(modules.c.id.in_(bindparam("ids", expanding=True)))
_STATES_OF = select(states.c.module_id, states.c.state, states.c.reachable).where(
    states.c.module_id.in_(bindparam("ids", expanding=True))
)
_NEWEST_READINGS = (
    select(readings.c.measure, readings.c.value, readings.c.unit, readings.c.at)
    .where(readings.c.module_id == bindparam("module_id"), readings.c.at.between(bindparam("since"), bindparam("until")))
    .order_by(readings.c.at.desc(), readings.c.measure.desc())
    .limit(bindparam("limit"))
)


def state_to_json(module_id: str, state: State) -> str:
    """Raises ValueError for what would be read back otherwise: JSON has no NaN."""
    text = to_json(state)
    try:
        same = decode_state(text) == state
    except msgspec.ValidationError:
        same = False
    if not same:
        raise ValueError(f"the state of module {module_id} cannot be kept as it is: {state}")
    return text


def prepare(reports: Sequence[Report]) -> Prepared:
    """Check and encode, before anything is shared with other callers."""
    prepared: Prepared = []
    for report in reports:
        text = None if report.state is None else state_to_json(report.module_id, report.state)
        if not isfinite(report.at) or not all(isfinite(reading.value) for _, reading in report.readings):
            raise ValueError(f"module {report.module_id} reported a number that is not finite")
        prepared.append((report, text))
    return prepared


class Recorder:
    """Keeps the reports of many callers with a handful of statements.

    Which plant a module stands in is remembered from report to report. That stays true without asking again: in the write
    transaction every change of others has been read already, and any change of a plant makes the recorder forget.
    """

    def __init__(self, database: Database) -> None:
        self._upsert_states = database.upsert(states)
        self._upsert_readings = database.upsert(readings)
        self._plant_of: dict[str, Id] = {}

    def forget(self) -> None:
        self._plant_of.clear()

    def forget_after(self, events: Sequence[Event]) -> None:
        if any(type(event) is PlantChanged for event in events):
            self.forget()

    def record(self, tx: Transaction, calls: Sequence[Prepared]) -> None:
        """All changes are kept in order; of several reports on one module the last is its state."""
        self._find_plants(tx.connection, {report.module_id for report, _ in chain.from_iterable(calls)})
        latest = self._find_silent(tx.connection, calls)
        changed: dict[str, tuple[str | None, bool, float]] = {}
        kept = []
        for report, text in chain.from_iterable(calls):
            module_id = report.module_id
            plant_id = self._plant_of.get(module_id)
            if plant_id is None:
                continue
            kept += [(module_id, measure, reading) for measure, reading in report.readings]
            state = report.state
            if state is None:
                state, text, reachable = latest.get(module_id, (None, None, True))
                if reachable == report.reachable:
                    continue
            latest[module_id] = (state, text, report.reachable)
            changed[module_id] = (text, report.reachable, report.at)
            tx.emit(
                StateChanged(plant_id=plant_id, module_id=Id(module_id), state=state, reachable=report.reachable, at=report.at)
            )
        execute_many(
            tx.connection,
            self._upsert_states,
            [
                {"module_id": module_id, "state": text, "reachable": reachable, "at": at}
                for module_id, (text, reachable, at) in changed.items()
            ],
        )
        execute_many(
            tx.connection,
            self._upsert_readings,
            [
                {"module_id": module_id, "at": reading.at, "measure": measure, "value": reading.value, "unit": reading.unit}
                for module_id, measure, reading in kept
            ],
        )

    def _find_plants(self, connection: Connection, module_ids: set[str]) -> None:
        unknown = module_ids - self._plant_of.keys()
        if len(self._plant_of) + len(unknown) > KNOWN_LIMIT:
            self.forget()
            unknown = module_ids
        for ids in chunked(unknown):
            self._plant_of.update((module_id, plant_id) for module_id, plant_id in connection.execute(_PLANTS_OF, {"ids": ids}))

    @staticmethod
    def _find_silent(connection: Connection, calls: Sequence[Prepared]) -> dict[str, tuple[State | None, str | None, bool]]:
        """The stored states that reports without a state of their own leave as they are."""
        silent = {report.module_id for report, text in chain.from_iterable(calls) if text is None}
        found: dict[str, tuple[State | None, str | None, bool]] = {}
        for ids in chunked(silent):
            for module_id, text, reachable in connection.execute(_STATES_OF, {"ids": ids}):
                found[module_id] = (None if text is None else decode_state(text), text, reachable)
        return found


def list_readings(
    connection: Connection, module_id: Id, since: float, until: float, limit: int
) -> Sequence[tuple[str, Reading]]:
    """The newest `limit` readings with since <= at <= until, oldest first."""
    parameters = {"module_id": module_id, "since": since, "until": until, "limit": limit}
    rows = connection.execute(_NEWEST_READINGS, parameters).all()
    return [(measure, Reading(value, Unit(unit), at)) for measure, value, unit, at in reversed(rows)]


def prune_changes(tx: Transaction, before: float) -> bool:
    """Remove the oldest changes, a piece at a time; True: there are more. The newest stays, it is where cursors go on."""
    oldest = select(changes.c.cursor, changes.c.at).order_by(changes.c.cursor).limit(PRUNE_CHUNK + 1)
    rows = tx.connection.execute(oldest).all()
    old = 0
    while old < len(rows) - 1 and rows[old].at < before:
        old += 1
    if old:
        tx.connection.execute(delete(changes).where(changes.c.cursor <= rows[old - 1].cursor))
    return old == PRUNE_CHUNK


def prune_readings(tx: Transaction, before: float) -> bool:
    """Remove old readings, a piece at a time; True: there are more."""
    key = (readings.c.module_id, readings.c.at, readings.c.measure)
    oldest = select(*key).where(readings.c.at < before).order_by(readings.c.at).limit(PRUNE_CHUNK)
    removed = tx.connection.execute(delete(readings).where(tuple_(*key).in_(oldest)))
    return removed.rowcount == PRUNE_CHUNK
