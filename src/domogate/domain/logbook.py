"""The logbook of a site's emergency lighting (EN 50172): tests, failures and maintenance."""

from enum import StrEnum
from typing import Any

import msgspec

from domogate.domain.events import StateChanged
from domogate.domain.ids import Id
from domogate.domain.safety import EmergencyTest, FailureType
from domogate.domain.states import EmergencyState


class LogbookKind(StrEnum):
    """The kind of an entry.

    The gateway writes the entries of the kinds TEST to ALERT_ENDED, when it gets reports. People write the entries of the other
    kinds.
    """

    TEST = "test"
    FAILURE = "failure"
    REPAIR = "repair"
    """A failure ended."""
    SILENCE = "silence"
    """A unit or controller went offline."""
    CONTACT = "contact"
    """A unit or controller is online again."""
    ALERT = "alert"
    ALERT_ENDED = "alert ended"

    COMMISSIONING = "commissioning"
    INSPECTION = "inspection"
    SERVICE = "service"
    ALTERATION = "alteration"
    NOTE = "note"

    @property
    def by_hand(self) -> bool:
        return self in _BY_HAND


_BY_HAND = frozenset(
    {LogbookKind.COMMISSIONING, LogbookKind.INSPECTION, LogbookKind.SERVICE, LogbookKind.ALTERATION, LogbookKind.NOTE}
)


class LogbookEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a logbook.

    An entry is never changed, and it stays when its module is removed. `module` is the name of the module at the time of the
    entry.
    """

    plant_id: Id
    at: float
    kind: LogbookKind
    module_id: Id | None = None
    module: str = ""
    test: EmergencyTest | None = None
    failure: FailureType | None = None
    words: str = ""
    by: str = ""
    """The name of the person who wrote the entry; empty if the gateway wrote it."""
    simulated: bool = False
    """True if a simulated device reported the event. Then the event did not really happen."""


_SAYS_OK = frozenset({FailureType.BLOCK_OK, FailureType.REMOTE_OK})


def entries_of(
    before: EmergencyState | None, event: StateChanged, module: str, *, simulated: bool = False
) -> list[LogbookEntry]:
    """Return the entries for a report of a unit or controller. `before` is its previous state, or None before the first report.

    Tests and failures that are also in the previous state give no entry. A test is identified by its kind and start time, a
    failure by its type.
    """
    entries: list[LogbookEntry] = []

    def log(kind: LogbookKind, at: float = event.at, **more: Any) -> None:
        more |= {"module_id": event.module_id, "module": module, "simulated": simulated}
        entries.append(LogbookEntry(plant_id=event.plant_id, at=at, kind=kind, **more))

    was = EmergencyState() if before is None else before
    now = event.state if isinstance(event.state, EmergencyState) else was
    for known, test in ((was.function_test, now.function_test), (was.duration_test, now.duration_test)):
        if test is not None and (known is None or known.began_at != test.began_at):
            # The entry has the time of the test. If the unit's clock is wrong, this time could be in the future: then the time
            # of the report is used.
            log(LogbookKind.TEST, min(test.ended_at, event.at), test=test, failure=test.failure)
    known_types, types = _failing(was), _failing(now)
    for failure in types:
        if failure not in known_types:
            log(LogbookKind.FAILURE, failure=failure)
    for failure in known_types:
        if failure not in types:
            log(LogbookKind.REPAIR, failure=failure)
    if event.turned:
        words = str(event.absence.why) if event.absence is not None else ""
        log(LogbookKind.CONTACT if event.reachable else LogbookKind.SILENCE, words=words)
    if now.alert is not None and bool(was.alert) is not now.alert:
        log(LogbookKind.ALERT if now.alert else LogbookKind.ALERT_ENDED)
    return entries


def _failing(state: EmergencyState) -> dict[FailureType, None]:
    """Return the types of the failures in the order of the report, each type once. Types that mean OK are left out."""
    return {failure.type: None for failure in state.failures if failure.type not in _SAYS_OK}
