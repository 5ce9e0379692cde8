from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domogate.domain.states import ThermostatFunction
from domogate.drivers.simulator.programs import PROGRAMS, SET_POINTS, Level, period_at
from support.markdown import section, tables

DOCUMENT = Path(__file__).parents[3] / "docs" / "simulator.md"
TIMES = st.integers(-(10**9), 4 * 10**9)
NUMBERS = st.integers(0, 11)


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


class TestAnyProgram:
    def test_there_is_one_for_each_number_of_the_contract(self) -> None:
        assert len(PROGRAMS) == 12

    @given(NUMBERS, TIMES)
    def test_has_a_period_at_any_time_that_began_within_the_last_week(self, number: int, time: int) -> None:
        period = period_at(number, time)
        assert 0 <= time // 60 - period.began <= 7 * 1440
        assert period.level in Level

    @given(NUMBERS, TIMES)
    def test_repeats_every_week(self, number: int, time: int) -> None:
        now, later = period_at(number, time), period_at(number, time + 7 * 86_400)
        assert (later.level, later.began - now.began) == (now.level, 7 * 1440)

    def test_has_set_points_within_the_bounds_for_both_functions(self) -> None:
        assert set(SET_POINTS) == set(ThermostatFunction)
        assert all(3 <= value <= 40 for levels in SET_POINTS.values() for value in levels.values())


class TestTheWorkingWeek:
    @pytest.mark.parametrize(
        ("time", "level"),
        [
            ("2026-01-14T05:59", "night"),
            ("2026-01-14T06:00", "comfort"),
            ("2026-01-14T08:30", "eco"),
            ("2026-01-14T17:00", "comfort"),
            ("2026-01-14T22:30", "night"),
            ("2026-01-17T07:59", "night"),
            ("2026-01-17T08:00", "comfort"),
            ("2026-01-18T23:30", "night"),
            ("2026-01-19T00:10", "night"),
        ],
    )
    def test_is_lived_through_by_weekday_and_hour(self, time: str, level: str) -> None:
        assert period_at(1, at(time)).level == level


DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONDAY = 12


class TestTheTableInTheDocuments:
    def test_is_this_table(self) -> None:
        (rows,) = tables(section(DOCUMENT.read_text("utf-8"), "Weekly programs"))
        told: dict[int, list[tuple[int, str]]] = {}
        for row in rows:
            number = int(row["number"])
            assert row["program"] == PROGRAMS[number].name
            first, _, last = row["days"].partition(" to ")
            for day in range(DAYS.index(first), DAYS.index(last or first) + 1):
                for period in row["periods"].split(", "):
                    clock, level = period.split(" ")
                    moment = at(f"2026-01-{MONDAY + day:02}T{clock}")
                    assert period_at(number, moment) == (moment // 60, level), row
                    told.setdefault(number, []).append((day, period))
        assert [len(told[number]) for number in range(12)] == [len(week.begins) for week in PROGRAMS]
