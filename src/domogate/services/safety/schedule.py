"""When a unit must be tested next: its function every month, its duration every year (EN 50172 clause 7, EN 62034)."""

from calendar import monthrange
from datetime import UTC, datetime
from enum import StrEnum

import msgspec

from domogate.domain.safety import EmergencyTest, EmergencyTestKind
from domogate.domain.states import EmergencyState

DAY = 86_400.0
MONTHS_BETWEEN = {EmergencyTestKind.FUNCTION: 1, EmergencyTestKind.DURATION: 12}
DUE_SOON = {EmergencyTestKind.FUNCTION: 7 * DAY, EmergencyTestKind.DURATION: 30 * DAY}
"""How long before it is due a test is announced. After a duration test the batteries are empty for a day."""

# The clock of a unit may be wrong. A time that datetime cannot handle becomes the nearest one that it can.
_EARLIEST, _LATEST = 0.0, datetime(9000, 1, 1, tzinfo=UTC).timestamp()


class TestStanding(StrEnum):
    """Whether one kind of test of a unit is in time."""

    __test__ = False  # pytest would collect it

    IN_TIME = "in time"
    DUE_SOON = "due soon"
    OVERDUE = "overdue"
    NEVER = "never tested"
    """No test is recorded, and the first one is not overdue yet."""


class PlannedTest(msgspec.Struct, frozen=True):
    """One kind of test of one unit: the last finished test, when the next is due, and whether one is running.

    If the unit was never tested, `due_at` is when it was commissioned or was first known to be charging.
    """

    kind: EmergencyTestKind
    last: EmergencyTest | None
    due_at: float | None
    standing: TestStanding
    under_way: bool = False


def add_months(at: float, months: int) -> float:
    """The same time and day so many months later (UTC), or the last day of the month if it has no such day."""
    moment = datetime.fromtimestamp(clamp(at), UTC)
    years, month = divmod(moment.month - 1 + months, 12)
    year = moment.year + years
    day = min(moment.day, monthrange(year, month + 1)[1])
    return moment.replace(year=year, month=month + 1, day=day).timestamp()


def clamp(at: float) -> float:
    return min(max(at, _EARLIEST), _LATEST)


def plan_test(kind: EmergencyTestKind, state: EmergencyState, commissioned_at: float | None, now: float) -> PlannedTest:
    """A test that failed counts as a test: its failure is reported, and the next test is due as usual."""
    last = state.function_test if kind is EmergencyTestKind.FUNCTION else state.duration_test
    under_way = state.testing is kind
    months = MONTHS_BETWEEN[kind]
    if last is None:
        since = commissioned_at if commissioned_at is not None else state.charging_since
        late = since is not None and now > add_months(since, months)
        return PlannedTest(kind, None, since, TestStanding.OVERDUE if late else TestStanding.NEVER, under_way)
    due_at = add_months(last.ended_at, months)
    if now > due_at:
        standing = TestStanding.OVERDUE
    elif now > due_at - DUE_SOON[kind]:
        standing = TestStanding.DUE_SOON
    else:
        standing = TestStanding.IN_TIME
    return PlannedTest(kind, last, due_at, standing, under_way)
