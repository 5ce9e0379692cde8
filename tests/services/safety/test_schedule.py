"""When tests are due: calendar months, and when a test is overdue."""

from datetime import UTC, datetime

import hypothesis.strategies as st
import pytest
from hypothesis import given
from msgspec.structs import replace

from domogate.domain.safety import EmergencyTestKind, FailureType
from domogate.domain.states import EmergencyState
from domogate.services.safety.schedule import DAY, DUE_SOON, MONTHS_BETWEEN, TestStanding, add_months, plan_test
from support.safety_site import a_test

FUNCTION, DURATION = EmergencyTestKind.FUNCTION, EmergencyTestKind.DURATION


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


class TestMonths:
    @pytest.mark.parametrize(
        ("begin", "months", "end"),
        [
            ("2026-01-31T10:00:00", 1, "2026-02-28T10:00:00"),
            ("2028-01-31T10:00:00", 1, "2028-02-29T10:00:00"),
            ("2026-12-31T23:59:59", 1, "2027-01-31T23:59:59"),
            ("2028-02-29T00:00:00", 12, "2029-02-28T00:00:00"),
            ("2026-03-31T00:00:00", -1, "2026-02-28T00:00:00"),
            ("2026-01-15T00:00:00", -1, "2025-12-15T00:00:00"),
            ("2026-11-15T08:30:00", 12, "2027-11-15T08:30:00"),
        ],
    )
    def test_the_same_day_or_the_last_of_the_month(self, begin: str, months: int, end: str) -> None:
        assert add_months(at(begin), months) == at(end)

    @given(st.floats(0, 2**34), st.integers(1, 24))
    def test_a_month_is_28_to_31_days(self, begin: float, months: int) -> None:
        assert 28 * DAY * months - 1 <= add_months(begin, months) - begin <= 31 * DAY * months + 1

    @given(st.floats(allow_nan=False))
    def test_whatever_a_units_clock_says_is_some_day(self, begin: float) -> None:
        assert add_months(begin, 1) > 0


class TestDue:
    LAST = at("2026-01-31T10:00:00")
    DUE = at("2026-02-28T10:00:00")

    def standing(self, now: float, kind: EmergencyTestKind = FUNCTION, last: float = LAST) -> TestStanding:
        state = EmergencyState(function_test=a_test(FUNCTION, last), duration_test=a_test(DURATION, last))
        return plan_test(kind, state, None, now).standing

    def test_a_function_test_is_due_after_a_month(self) -> None:
        planned = plan_test(FUNCTION, EmergencyState(function_test=a_test(FUNCTION, self.LAST)), None, self.LAST)
        assert (planned.due_at, planned.standing, planned.last) == (self.DUE, TestStanding.IN_TIME, a_test(FUNCTION, self.LAST))

    def test_a_duration_test_after_a_year(self) -> None:
        planned = plan_test(DURATION, EmergencyState(duration_test=a_test(DURATION, self.LAST)), None, self.LAST)
        assert planned.due_at == at("2027-01-31T10:00:00")

    def test_it_is_overdue_only_after_that_time(self) -> None:
        assert self.standing(self.DUE) is TestStanding.DUE_SOON
        assert self.standing(self.DUE + 1) is TestStanding.OVERDUE

    @pytest.mark.parametrize("kind", [FUNCTION, DURATION])
    def test_it_is_announced_some_days_before(self, kind: EmergencyTestKind) -> None:
        due = add_months(self.LAST, MONTHS_BETWEEN[kind])
        assert self.standing(due - DUE_SOON[kind], kind) is TestStanding.IN_TIME
        assert self.standing(due - DUE_SOON[kind] + 1, kind) is TestStanding.DUE_SOON

    def test_a_test_that_failed_is_a_test(self) -> None:
        failed = a_test(FUNCTION, self.LAST, FailureType.BLOCK_FAULTY_EMERGENCY_LIGHT)
        planned = plan_test(FUNCTION, EmergencyState(function_test=failed), None, self.LAST)
        assert (planned.due_at, planned.standing) == (self.DUE, TestStanding.IN_TIME)

    def test_one_that_ended_in_the_future_is_due_after_its_entry_in_the_logbook(self) -> None:
        state = EmergencyState(function_test=a_test(FUNCTION, self.DUE + 999 * DAY))
        planned = plan_test(FUNCTION, state, None, self.LAST + DAY, logged_at=self.LAST)
        assert (planned.due_at, planned.standing) == (self.DUE, TestStanding.IN_TIME)
        assert plan_test(FUNCTION, state, None, self.DUE + 1, logged_at=self.LAST).standing is TestStanding.OVERDUE

    def test_one_that_ended_in_the_future_and_is_not_in_the_logbook_is_overdue(self) -> None:
        state = EmergencyState(function_test=a_test(FUNCTION, self.DUE))
        planned = plan_test(FUNCTION, state, None, self.LAST)
        assert (planned.due_at, planned.standing) == (None, TestStanding.OVERDUE)

    def test_one_that_is_under_way_says_so_of_its_kind_only(self) -> None:
        state = EmergencyState(testing=DURATION)
        assert [plan_test(kind, state, None, 0.0).under_way for kind in (FUNCTION, DURATION)] == [False, True]


class TestNeverTested:
    BEGIN = at("2026-01-31T10:00:00")

    def test_it_is_due_since_it_was_commissioned(self) -> None:
        planned = plan_test(FUNCTION, EmergencyState(charging_since=self.BEGIN - 99), self.BEGIN, self.BEGIN + DAY)
        assert (planned.due_at, planned.standing, planned.last) == (self.BEGIN, TestStanding.NEVER, None)

    def test_or_since_it_has_been_charging(self) -> None:
        assert plan_test(FUNCTION, EmergencyState(charging_since=self.BEGIN), None, self.BEGIN).due_at == self.BEGIN

    def test_or_nobody_knows_since_when(self) -> None:
        planned = plan_test(DURATION, EmergencyState(), None, self.BEGIN)
        assert (planned.due_at, planned.standing) == (None, TestStanding.NEVER)

    def test_it_is_overdue_once_the_time_for_the_first_test_has_passed(self) -> None:
        late = at("2026-02-28T10:00:00")
        state = EmergencyState(charging_since=self.BEGIN)
        assert plan_test(FUNCTION, state, None, late).standing is TestStanding.NEVER
        assert plan_test(FUNCTION, state, None, late + 1).standing is TestStanding.OVERDUE
        assert plan_test(DURATION, state, None, late + 1).standing is TestStanding.NEVER
        assert plan_test(FUNCTION, replace(state, testing=FUNCTION), None, late + 1).under_way
