"""What drivers reported: last states and changes. `Recorder` is the hot write path."""

from collections.abc import Sequence
from itertools import chain
from math import isfinite
from typing import NamedTuple

import msgspec
from sqlalchemy import Connection, bindparam, delete, select

from domogate.domain.devices import EMERGENCY_KINDS
from domogate.domain.events import Event, PlantChanged, StateChanged
from domogate.domain.ids import Id
from domogate.domain.logbook import LogbookEntry, entries_of
from domogate.domain.reachability import Absence
from domogate.domain.states import EmergencyState, Report, State
from domogate.stores.codec import decode_absence, decode_state, to_json, to_json_or_none
from domogate.stores.engine import Database, chunked
from domogate.stores.entries import log_entries
from domogate.stores.readings import LATEST, ReadingKeeper
from domogate.stores.tables import changes, modules, states
from domogate.stores.transaction import Transaction

KNOWN_LIMIT = 200_000
PRUNE_CHUNK = 1_000

Prepared = list[tuple[Report, str | None]]

_PLANTS_OF = (
    select(modules.c.id, modules.c.plant_id, modules.c.kind, modules.c.name, states.c.reachable)
    .join(states, isouter=True)
    .where(modules.c.id.in_(bindparam("ids", expanding=True)))
)
_STATES_OF = select(states.c.module_id, states.c.state, states.c.reachable, states.c.absence).where(
    states.c.module_id.in_(bindparam("ids", expanding=True))
)


class _Latest(NamedTuple):
    """A module's state with its text, or that alone (most are never looked at), and whether it can be reached."""

    state: State | None
    text: str | None
    reachable: bool
    absence: Absence | None


_NEVER_REPORTED = _Latest(None, None, True, None)


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
        numbers = [report.at] if report.absence is None else [report.at, report.absence.since]
        numbers += [reading.value for _, reading in report.readings]
        if not all(map(isfinite, numbers)):
            raise ValueError(f"module {report.module_id} reported a number that is not finite")
        if not all(0.0 <= reading.at <= LATEST for _, reading in report.readings):
            raise ValueError(f"module {report.module_id} reported a reading of a time that cannot be")
        prepared.append((report, text))
    return prepared


class Recorder:
    """Keeps the reports of many callers with a handful of statements.

    Which plant a module stands in, and whether it is away, is remembered from report to report. That stays true without
    asking again: in the write transaction every change of others has been read already, and made the recorder forget.
    """

    def __init__(self, database: Database) -> None:
        self._upsert_states = database.upsert(states)
        self._readings = ReadingKeeper(database)
        self._plant_of: dict[str, Id] = {}
        self._away: set[str] = set()
        self._logged: dict[str, str] = {}
        """Emergency lights and controllers, of which a logbook is kept, and what they are called."""

    def forget(self) -> None:
        self._plant_of.clear()
        self._away.clear()
        self._logged.clear()
        self._readings.forget()

    def forget_after(self, events: Sequence[Event]) -> None:
        """What others committed."""
        for event in events:
            if type(event) is PlantChanged:
                self.forget()
                return
            if type(event) is StateChanged:
                self._plant_of.pop(event.module_id, None)
                self._away.discard(event.module_id)

    def record(self, tx: Transaction, calls: Sequence[Prepared]) -> None:
        """All changes are kept in order; of several reports on one module the last is its state."""
        reporting = {report.module_id for report, _ in chain.from_iterable(calls)}
        self._find_plants(tx.connection, reporting)
        latest = self._find_latest(tx.connection, calls, reporting & self._logged.keys())
        entries: list[LogbookEntry] = []
        changed: dict[str, float] = {}
        flipped: set[str] = set()
        kept = []
        for report, text in chain.from_iterable(calls):
            module_id = report.module_id
            plant_id = self._plant_of.get(module_id)
            if plant_id is None:
                continue
            kept += [(module_id, measure, reading) for measure, reading in report.readings]
            reachable = report.reachable
            absence = None if reachable else report.absence
            state = report.state
            if state is None:
                known = latest.get(module_id, _NEVER_REPORTED)
                # Away still, and nothing new is said of why: no news.
                if reachable == known.reachable and absence in (None, known.absence):
                    continue
                text = known.text
                state = known.state if known.state is not None or text is None else decode_state(text)
            before = latest.get(module_id, _NEVER_REPORTED)
            latest[module_id] = _Latest(state, text, reachable, absence)
            changed[module_id] = report.at
            turned = reachable == ((module_id in self._away) != (module_id in flipped))
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
                entries += entries_of(_emergency(before), event, self._logged[module_id])
        tx.execute_bulk(
            self._upsert_states,
            [
                {
                    "module_id": module_id,
                    "state": latest[module_id].text,
                    "reachable": latest[module_id].reachable,
                    "at": at,
                    "absence": to_json_or_none(latest[module_id].absence),
                }
                for module_id, at in changed.items()
            ],
        )
        self._readings.keep(tx, kept)
        if entries:
            log_entries(tx, entries)
        self._away ^= flipped

    def _find_plants(self, connection: Connection, module_ids: set[str]) -> None:
        unknown = module_ids - self._plant_of.keys()
        if len(self._plant_of) + len(unknown) > KNOWN_LIMIT:
            self.forget()
            unknown = module_ids
        for ids in chunked(unknown):
            for module_id, plant_id, kind, name, reachable in connection.execute(_PLANTS_OF, {"ids": ids}):
                self._plant_of[module_id] = plant_id
                if kind in EMERGENCY_KINDS:
                    self._logged[module_id] = name
                if reachable is False:  # None: it never reported, and counts as there until it is missed
                    self._away.add(module_id)

    @staticmethod
    def _find_latest(connection: Connection, calls: Sequence[Prepared], logged: set[str]) -> dict[str, _Latest]:
        """The stored states that reports without a state of their own leave as they are, and those a logbook is kept of."""
        silent = {report.module_id for report, text in chain.from_iterable(calls) if text is None}
        found: dict[str, _Latest] = {}
        for ids in chunked(silent | logged):
            for module_id, text, reachable, absence in connection.execute(_STATES_OF, {"ids": ids}):
                found[module_id] = _Latest(None, text, reachable, None if absence is None else decode_absence(absence))
        return found


def _emergency(known: _Latest) -> EmergencyState | None:
    state = known.state if known.state is not None or known.text is None else decode_state(known.text)
    return state if isinstance(state, EmergencyState) else None


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
