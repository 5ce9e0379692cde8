"""The test schedule of units: a function test every month, a duration test every year (EN 50172 clause 7, EN 62034)."""

from calendar import monthrange
from datetime import UTC, datetime
from enum import StrEnum

import msgspec

from domogate.domain.safety import EmergencyTest, EmergencyTestKind
from domogate.domain.states import EmergencyState

DAY = 86_400.0
MONTHS_BETWEEN = {EmergencyTestKind.FUNCTION: 1, EmergencyTestKind.DURATION: 12}
DUE_SOON = {EmergencyTestKind.FUNCTION: 7 * DAY, EmergencyTestKind.DURATION: 30 * DAY}
"""In seconds. A test counts as due soon if less than this time is left until its due time.

The time is longer for a duration test. People must plan this test, because it empties the batteries.
"""

# The clock of a unit may be wrong. Times outside these limits are replaced by the limit, because datetime cannot handle them.
_EARLIEST, _LATEST = 0.0, datetime(9000, 1, 1, tzinfo=UTC).timestamp()


class TestStanding(StrEnum):
    """Whether a unit is tested in time. Each unit has two such values: one for function tests and one for duration tests."""

    __test__ = False  # tells pytest that this class has no tests

    IN_TIME = "in time"
    DUE_SOON = "due soon"
    OVERDUE = "overdue"
    NEVER = "never tested"
    """No test is recorded, and the first test is not overdue yet."""


class PlannedTest(msgspec.Struct, frozen=True):
    """The schedule of one kind of test of one unit: the last finished test, the next test, and whether a test is running.

    The first test is due when the unit is commissioned. So if no test is recorded, `due_at` is the time of commissioning. If
    this time is not known, `due_at` is the time at which the battery began to charge, or None if this is not known either.

    The first test is overdue some time after `due_at`: one month for a function test, one year for a duration test.

    `due_at` is also None if the time of the last test is not known.
    """

    kind: EmergencyTestKind
    last: EmergencyTest | None
    due_at: float | None
    standing: TestStanding
    under_way: bool = False


def add_months(at: float, months: int) -> float:
    """Return the same day and time (UTC) `months` months later.

    If that month has no such day, return its last day.
    """
    moment = datetime.fromtimestamp(clamp(at), UTC)
    years, month = divmod(moment.month - 1 + months, 12)
    year = moment.year + years
    day = min(moment.day, monthrange(year, month + 1)[1])
    return moment.replace(year=year, month=month + 1, day=day).timestamp()


def clamp(at: float) -> float:
    return min(max(at, _EARLIEST), _LATEST)


def last_test(kind: EmergencyTestKind, state: EmergencyState) -> EmergencyTest | None:
    return state.function_test if kind is EmergencyTestKind.FUNCTION else state.duration_test


def plan_test(
    kind: EmergencyTestKind,
    state: EmergencyState,
    commissioned_at: float | None,
    now: float,
    logged_at: float | None = None,
) -> PlannedTest:
    """Compute when the next test is due.

    A failed test also counts as a test. Its failure is reported, and the next test is due at the usual time. A unit whose clock
    is wrong may report a test that ends in the future. Then `logged_at` counts, which is the time of this test in the logbook.
    If the logbook does not have this test, nobody knows when the unit was tested. Then the next test is overdue.
    """
    last = last_test(kind, state)
    under_way = state.testing is kind
    months = MONTHS_BETWEEN[kind]
    if last is None:
        since = commissioned_at if commissioned_at is not None else state.charging_since
        late = since is not None and now > add_months(since, months)
        return PlannedTest(kind, None, since, TestStanding.OVERDUE if late else TestStanding.NEVER, under_way)
    ended_at = last.ended_at if last.ended_at <= now else logged_at
    if ended_at is None:
        return PlannedTest(kind, last, None, TestStanding.OVERDUE, under_way)
    due_at = add_months(ended_at, months)
    if now > due_at:
        standing = TestStanding.OVERDUE
    elif now > due_at - DUE_SOON[kind]:
        standing = TestStanding.DUE_SOON
    else:
        standing = TestStanding.IN_TIME
    return PlannedTest(kind, last, due_at, standing, under_way)
