"""The logbook of a site's emergency lighting, as EN 50172 asks for one: what was tested, what failed, what was done."""

from enum import StrEnum
from typing import Any

import msgspec

from domogate.domain.events import StateChanged
from domogate.domain.ids import Id
from domogate.domain.safety import EmergencyTest, FailureType
from domogate.domain.states import EmergencyState


class LogbookKind(StrEnum):
    """What an entry is of. The first are made by the gateway as units report; the last are written by people."""

    TEST = "test"
    FAILURE = "failure"
    REPAIR = "repair"
    """A failure is gone."""
    SILENCE = "silence"
    """A unit or controller cannot be reached any more."""
    CONTACT = "contact"
    """It can be reached again."""
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
    {
        LogbookKind.COMMISSIONING,
        LogbookKind.INSPECTION,
        LogbookKind.SERVICE,
        LogbookKind.ALTERATION,
        LogbookKind.NOTE,
    }
)


class LogbookEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One line. It is never changed and outlives the module it speaks of; `module` is what that was called then."""

    plant_id: Id
    at: float
    kind: LogbookKind
    module_id: Id | None = None
    module: str = ""
    test: EmergencyTest | None = None
    failure: FailureType | None = None
    words: str = ""
    by: str = ""
    """Who wrote it, in their own words; empty: the gateway."""


_SAYS_OK = frozenset({FailureType.BLOCK_OK, FailureType.REMOTE_OK})


def entries_of(before: EmergencyState | None, event: StateChanged, module: str) -> list[LogbookEntry]:
    """What is to be logged of a unit or controller that was last in `before` (None: it never said) and reports this.

    A test is told apart by its kind and when it began, a failure by its type: what was known before is no news.
    """
    entries: list[LogbookEntry] = []

    def log(kind: LogbookKind, at: float = event.at, **more: Any) -> None:
        entries.append(
            LogbookEntry(plant_id=event.plant_id, at=at, kind=kind, module_id=event.module_id, module=module, **more)
        )

    was = EmergencyState() if before is None else before
    now = event.state if isinstance(event.state, EmergencyState) else was
    for known, test in ((was.function_test, now.function_test), (was.duration_test, now.duration_test)):
        if test is not None and (known is None or known.began_at != test.began_at):
            # When it was, not when it was heard of; but never in the future, whatever the unit's clock says.
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
    """Each type once, in the order they are told."""
    return {failure.type: None for failure in state.failures if failure.type not in _SAYS_OK}
