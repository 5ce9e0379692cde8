"""Adds logbook entries for reports of units and controllers, in the commit that writes the report."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select

from domogate.domain.events import StateChanged
from domogate.domain.ids import Id
from domogate.domain.logbook import LogbookEntry, LogbookKind, entries_of
from domogate.domain.plants import SIMULATED_DRIVERS
from domogate.domain.states import EmergencyState
from domogate.stores.codec import decode_state, decode_test, to_json_or_none, to_row
from domogate.stores.engine import Transaction, chunked
from domogate.stores.tables.notices import logbook
from domogate.stores.tables.plants import modules, states

_COLUMNS = [column.name for column in logbook.columns if column.name != "number"]
_INSERT = insert(logbook).values({name: bindparam(name) for name in _COLUMNS}).inline()
_TESTS = select(logbook.c.module_id, logbook.c.test).where(
    logbook.c.plant_id.in_(bindparam("plants", expanding=True)),
    logbook.c.at >= bindparam("since"),
    logbook.c.kind == LogbookKind.TEST.value,
)
_WITH_STATES = (
    select(modules.c.id, modules.c.plant_id, modules.c.name, modules.c.driver, states.c.state, states.c.reachable)
    .join(states)
    .where(modules.c.id.in_(bindparam("ids", expanding=True)))
)


def log_entries(tx: Transaction, entries: Sequence[LogbookEntry]) -> None:
    """Write logbook entries for the reports of units and controllers. A test that is already in the logbook is skipped."""
    known = _known_tests(tx.connection, [entry for entry in entries if entry.test is not None])
    rows = []
    for entry in entries:
        if entry.test is not None:
            told = (entry.module_id, entry.test.kind, entry.test.began_at)
            if told in known:
                continue
            known.add(told)
        rows.append(entry_to_row(entry))
    tx.execute_bulk(_INSERT, rows)


def log_restored(tx: Transaction, own: Mapping[Id, str]) -> None:
    """Write logbook entries for modules whose injected faults are cleared.

    The entries say that the injected failures have ended, and that the real failures have appeared.

    `own` has the real states of the modules, as JSON.
    """
    entries: list[LogbookEntry] = []
    for ids in chunked(sorted(own)):
        for row in tx.connection.execute(_WITH_STATES, {"ids": ids}):
            before, after = None if row.state is None else decode_state(row.state), decode_state(own[row.id])
            if isinstance(before, EmergencyState) and isinstance(after, EmergencyState):
                event = StateChanged(plant_id=row.plant_id, module_id=row.id, state=after, reachable=row.reachable, at=tx.now)
                entries += entries_of(before, event, row.name, simulated=row.driver in SIMULATED_DRIVERS)
    log_entries(tx, entries)


def _known_tests(connection: Connection, entries: Sequence[LogbookEntry]) -> set[tuple[Id | None, str, float]]:
    """Return the module, kind and start of the stored tests of the plants in `entries`.

    The caller compares them with `entries`, to skip tests that are already in the logbook.

    Tests with an earlier logbook time than all `entries` are left out. There is one exception: if a test in `entries` ends in
    the future (the clock of its unit is wrong), all tests of these plants are read. The logbook time of such a test is the time
    of its first report, so the test may already be in the logbook with an earlier time.
    """
    if not entries:
        return set()
    # A test that ends in the future is written with the time of its first report.
    since = min(0.0 if entry.test is None or entry.test.ended_at > entry.at else entry.at for entry in entries)
    wanted = {"plants": sorted({entry.plant_id for entry in entries}), "since": since}
    found = [(row.module_id, decode_test(row.test)) for row in connection.execute(_TESTS, wanted)]
    return {(module_id, test.kind, test.began_at) for module_id, test in found}


def entry_to_row(entry: LogbookEntry) -> dict[str, Any]:
    failure = None if entry.failure is None else entry.failure.value
    return to_row(entry, kind=entry.kind.value, test=to_json_or_none(entry.test), failure=failure)
