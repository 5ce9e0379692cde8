"""The logbook of a site's emergency lighting, as EN 50172 asks for one: what was tested, what failed, what was done."""

from enum import StrEnum

import msgspec

from domogate.domain.ids import Id
from domogate.domain.safety import EmergencyTest, FailureType


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
