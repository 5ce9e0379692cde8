"""Times and lengths of time as operators write them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domogate.common.times import parse_duration, parse_resolution, parse_time

AT = datetime(2026, 11, 15, 8, 30, tzinfo=UTC).timestamp()


class TestMoments:
    @pytest.mark.parametrize(
        "text",
        [
            "2026-11-15T08:30:00Z",
            "2026-11-15T08:30Z",
            "2026-11-15T08:30:00.000Z",
            "2026-11-15T09:30:00+01:00",
            f"{AT:.0f}",
            f"{AT:.3f}",
        ],
    )
    def test_they_are_seconds_since_the_epoch(self, text: str) -> None:
        assert parse_time(text) == AT

    def test_a_day_begins_at_midnight_in_utc(self) -> None:
        assert parse_time("2026-11-15") == AT - 8.5 * 3600

    @pytest.mark.parametrize(
        "text",
        [
            *("", "now", "20261115", "2026-11-15T08:30:00", "2026-11-15 08:30:00Z", "2026-02-30", "2026-11-15T25:00:00Z"),
            *("-1", "1e9", "nan", "inf", "123456789012", "２026-11-15", "2026-11-15T08:30:00Z\n", "2026-W46-7", "0000-01-01"),
            *("9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+00:01"),
        ],
    )
    def test_anything_else_is_refused_with_an_example(self, text: str) -> None:
        with pytest.raises(ValueError, match="2026-11-15T08:30:00Z"):
            parse_time(text)

    @given(
        st.datetimes(min_value=datetime(1980, 1, 1), max_value=datetime(2200, 1, 1)),
        st.integers(-14 * 60, 14 * 60),
    )
    def test_whatever_is_written_with_an_offset_is_read_back(self, wall: datetime, minutes: int) -> None:
        moment = wall.replace(tzinfo=timezone(timedelta(minutes=minutes)))
        assert parse_time(moment.isoformat()) == moment.timestamp()
        assert abs(parse_time(f"{moment.timestamp():.6f}") - moment.timestamp()) < 1e-6

    @given(st.text(max_size=30))
    def test_no_text_at_all_does_anything_but_be_read_or_refused(self, text: str) -> None:
        for parse in (parse_time, parse_duration, parse_resolution):
            try:
                read = parse(text)
            except ValueError:
                continue
            assert -1e11 < read < 1e15


class TestDurations:
    @pytest.mark.parametrize(("text", "seconds"), [("45", 45), ("45s", 45), ("30m", 1800), ("366000d", 366_000 * 86_400)])
    def test_they_are_seconds(self, text: str, seconds: float) -> None:
        assert parse_duration(text) == seconds

    @pytest.mark.parametrize("text", ["366001d", "999999999d", "999999999h"])
    def test_a_time_that_could_not_be_printed_is_refused(self, text: str) -> None:
        with pytest.raises(ValueError, match="too long"):
            parse_duration(text)


class TestResolutions:
    @pytest.mark.parametrize(("text", "seconds"), [("60", 60), ("60s", 60), ("15m", 900), ("1h", 3600), ("366d", 31_622_400)])
    def test_they_are_seconds(self, text: str, seconds: float) -> None:
        assert parse_resolution(text) == seconds

    @pytest.mark.parametrize("text", ["59", "1s", "367d", "366000d"])
    def test_they_are_a_minute_to_a_year(self, text: str) -> None:
        with pytest.raises(ValueError, match="1m to 366d"):
            parse_resolution(text)
