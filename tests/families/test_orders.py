"""The bodies of X1 and X2: valid ones become commands, others are refused."""

import json
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from domogate.domain.commands import SetLight, SetThermostat
from domogate.domain.faults import MalformedRequest, ValueOutOfRange
from domogate.domain.states import Color, ThermostatFunction, ThermostatMode
from domogate.families._orders import (
    LIGHT_BODY,
    THERMOSTAT_BODY,
    light_command,
    parse_celsius,
    parse_end,
    thermostat_command,
)
from domogate.families._serve import parse_body

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC).timestamp()


def light(body: Any) -> SetLight:
    return light_command(parse_body(json.dumps(body).encode(), LIGHT_BODY)[1])


def thermostat(body: Any, known_programs: Iterable[int] = (), offset_minutes: int = 60) -> SetThermostat:
    _, order = parse_body(json.dumps(body).encode(), THERMOSTAT_BODY)
    return thermostat_command(order, known_programs=list(known_programs), offset_minutes=offset_minutes, now=NOW)


class TestALightOrder:
    @pytest.mark.parametrize(
        ("body", "command"),
        [
            ({"status": "on"}, SetLight(on=True)),
            ({"status": "off"}, SetLight(on=False)),
            ({"level": 0}, SetLight(level=0)),
            ({"level": 100}, SetLight(level=100)),
            ({"level": 50.0}, SetLight(level=50)),
            ({"colorHSV": {"H": 360, "S": 0, "V": 100.0}}, SetLight(color=Color(360, 0, 100))),
            (
                {"status": "on", "level": 7, "colorHSV": {"H": 0.5, "S": 1.5, "V": 2.5}, "unknown": [1]},
                SetLight(on=True, level=7, color=Color(0.5, 1.5, 2.5)),
            ),
        ],
    )
    def test_says_only_what_it_asks_for(self, body: Any, command: SetLight | SetThermostat) -> None:
        assert light(body) == command
        assert type(light(body).level) is type(command.level)

    @pytest.mark.parametrize(
        "body",
        [
            {},
            {"unknown": "on"},
            {"status": "ON"},
            {"status": "toggle"},
            {"level": -1},
            {"level": 101},
            {"level": 1e300},
            {"level": 0.5},
            {"colorHSV": {"H": 360.1, "S": 0, "V": 0}},
            {"colorHSV": {"H": 0, "S": -0.1, "V": 0}},
            {"colorHSV": {"H": 0, "S": 100.5, "V": 0}},
            {"colorHSV": {"H": 0, "S": 0, "V": 100.5}},
            {"status": "on", "level": 200},
            {"status": "on", "level": 0},
        ],
    )
    def test_with_an_invalid_value_is_refused(self, body: Any) -> None:
        with pytest.raises(ValueOutOfRange):
            light(body)

    def test_that_is_empty_is_refused_with_the_names_of_its_members(self) -> None:
        with pytest.raises(ValueOutOfRange, match="status, level and colorHSV"):
            light({})

    @pytest.mark.parametrize(
        "body",
        [
            {"status": None},
            {"status": True},
            {"status": 1},
            {"level": "50"},
            {"level": True},
            {"level": None},
            {"colorHSV": {"H": 1, "S": 1}},
            {"colorHSV": [1, 1, 1]},
            {"colorHSV": {"H": "1", "S": 1, "V": 1}},
            [],
            "on",
        ],
    )
    def test_of_the_wrong_form_is_refused(self, body: Any) -> None:
        with pytest.raises(MalformedRequest):
            light(body)


class TestAThermostatOrder:
    @pytest.mark.parametrize(
        ("body", "command"),
        [
            ({"function": "cooling"}, SetThermostat(function=ThermostatFunction.COOLING)),
            ({"mode": "protection"}, SetThermostat(mode=ThermostatMode.PROTECTION)),
            ({"setPoint": {"value": "20.5", "unit": "C"}}, SetThermostat(set_point=20.5)),
            ({"programs": [{"number": 11}]}, SetThermostat(program=11)),
            (
                {"function": "COOLING", "mode": "Off"},
                SetThermostat(function=ThermostatFunction.COOLING, mode=ThermostatMode.OFF),
            ),
            ({"setPoint": {"value": 20.5, "unit": "°C"}}, SetThermostat(set_point=20.5)),
            ({"setPoint": {"value": 68, "unit": "°f"}}, SetThermostat(set_point=20)),
            ({"mode": "manual", "activationTime": ""}, SetThermostat(mode=ThermostatMode.MANUAL)),
            (
                {
                    "function": "heating",
                    "mode": "manual",
                    "setPoint": {"value": 21, "unit": "C"},
                    "activationTime": "2026-11-15T14:00:00",
                },
                SetThermostat(
                    function=ThermostatFunction.HEATING, mode=ThermostatMode.MANUAL, set_point=21.0, activation_time=NOW + 3600
                ),
            ),
        ],
    )
    def test_says_only_what_it_asks_for(self, body: Any, command: SetLight | SetThermostat) -> None:
        assert thermostat(body) == command

    @pytest.mark.parametrize("mode", ThermostatMode)
    def test_every_mode_has_a_word(self, mode: ThermostatMode) -> None:
        assert thermostat({"mode": mode.value}).mode is mode

    @pytest.mark.parametrize(
        "body",
        [
            {},
            {"status": "on"},
            {"function": "heat"},
            {"mode": "auto"},
            {"setPoint": {"value": "2.9", "unit": "C"}},
            {"setPoint": {"value": 40.1, "unit": "C"}},
            {"setPoint": {"value": 20, "unit": "K"}},
            {"setPoint": {"value": 20, "unit": "°°C"}},
            {"setPoint": {"value": 20, "unit": "°"}},
            {"setPoint": {"value": 20, "unit": "F"}},
            {"setPoint": {"value": "20,5", "unit": "C"}},
            {"setPoint": {"value": "", "unit": "C"}},
            {"setPoint": {"value": "2e1", "unit": "C"}},
            {"setPoint": {"value": " 20", "unit": "C"}},
            {"setPoint": {"value": "20\n", "unit": "C"}},
            {"setPoint": {"value": "٢٠", "unit": "C"}},
            {"setPoint": {"value": 1e300, "unit": "F"}},
            {"programs": []},
            {"programs": [{"number": 1}, {"number": 2}]},
            {"programs": [{"number": 12}]},
            {"programs": [{"number": -1}]},
            {"programs": [{"number": 0.5}]},
            {"activationTime": "2026-11-15T12:59:59"},
            {"activationTime": "soon"},
            {"activationTime": ""},
        ],
    )
    def test_with_an_invalid_value_is_refused(self, body: Any) -> None:
        with pytest.raises(ValueOutOfRange):
            thermostat(body)

    @pytest.mark.parametrize(
        "body",
        [
            {"function": None},
            {"mode": 1},
            {"setPoint": "20"},
            {"setPoint": {"value": 20}},
            {"setPoint": {"unit": "C"}},
            {"setPoint": {"value": True, "unit": "C"}},
            {"setPoint": {"value": None, "unit": "C"}},
            {"programs": {"number": 1}},
            {"programs": [1]},
            {"programs": [{"number": "1"}]},
            {"activationTime": 1794700800},
        ],
    )
    def test_of_the_wrong_form_is_refused(self, body: Any) -> None:
        with pytest.raises(MalformedRequest):
            thermostat(body)

    def test_a_program_is_one_that_the_thermostat_lists(self) -> None:
        for number in (0, 2, 11):
            assert thermostat({"programs": [{"number": number}]}, known_programs=(0, 2, 11)).program == number
        with pytest.raises(ValueOutOfRange, match="no program 1"):
            thermostat({"programs": [{"number": 1}]}, known_programs=(0, 2))


class TestDegrees:
    @pytest.mark.parametrize(
        ("value", "unit", "celsius"),
        [
            ("3", "C", 3.0),
            (40, "C", 40.0),
            (20.25, "C", 20.2),
            ("37.4", "F", 3.0),
            (104, "F", 40.0),
            (68, "F", 20.0),
            ("70", "F", 21.1),
        ],
    )
    def test_are_kept_in_celsius(self, value: str | float, unit: str, celsius: float) -> None:
        assert parse_celsius(value, unit) == celsius

    @pytest.mark.parametrize(("value", "unit"), [("37.3", "F"), (104.1, "F"), (2.99, "C"), ("40.01", "C")])
    def test_outside_the_bounds_are_refused_before_they_are_rounded(self, value: str | float, unit: str) -> None:
        with pytest.raises(ValueOutOfRange):
            parse_celsius(value, unit)

    @given(st.integers(30, 400))
    def test_come_back_as_they_were_set_in_either_scale(self, tenths: int) -> None:
        celsius = tenths / 10
        assert parse_celsius(f"{celsius:.1f}", "C") == parse_celsius(celsius, "C") == celsius
        assert parse_celsius(f"{celsius * 1.8 + 32:.2f}", "F") == celsius

    @given(st.text(max_size=12) | st.floats(allow_nan=False, allow_infinity=False) | st.integers(), st.sampled_from("CF"))
    def test_whatever_is_sent_is_within_the_bounds_or_refused(self, value: str | float, unit: str) -> None:
        with suppress(ValueOutOfRange):
            assert 3 <= parse_celsius(value, unit) <= 40


class TestDatesAndTimes:
    @pytest.mark.parametrize(
        ("text", "offset_minutes", "later"),
        [
            ("2026-11-15T12:00:01", 0, 1),
            ("2026-11-15T13:00:01", 60, 1),
            ("2026-11-15T04:00:01", -480, 1),
            ("2026-11-15T12:00:01Z", 60, 1),
            ("2026-11-15T14:00:00+02:00", 60, 0),
            ("2026-11-15T14:30:00+02:00", -480, 1800),
        ],
    )
    def test_are_local_to_the_device_unless_they_have_an_offset(self, text: str, offset_minutes: int, later: int) -> None:
        if later:
            assert parse_end(text, offset_minutes, NOW) == NOW + later
        else:
            with pytest.raises(ValueOutOfRange, match="in the future"):
                parse_end(text, offset_minutes, NOW)

    @pytest.mark.parametrize(
        ("text", "offset_minutes"),
        [
            ("2026-11-15T12:00:00/2026-11-15T12:30:00", 0),
            ("2026-11-15T13:00:00/2026-11-15T13:30:00", 60),
            ("2026-11-15T12:00:00Z/2026-11-15T13:30:00+01:00", -480),
            ("2020-01-01T00:00:00/2026-11-15T12:30:00", 0),
            ("2026-11-15T12:05:00/2026-11-15T12:30:00", 0),
        ],
    )
    def test_an_interval_that_has_begun_stands_for_its_end(self, text: str, offset_minutes: int) -> None:
        assert parse_end(text, offset_minutes, NOW) == NOW + 1800

    @pytest.mark.parametrize(
        "text",
        [
            "2026-11-16",
            "20261116T120000",
            "2026-W47-1T12:00:00",
            "2026-11-16 12:00:00",
            "2026-11-16T12:00",
            "2026-11-16T12:00:00.5",
            "2026-11-16T12:00:00z",
            "2026-11-31T12:00:00",
            "2026-11-16T24:00:01",
            "2026-11-16T12:00:00+25:00",
            "2026-11-16T12:00:00\n",
            "٢٠٢٦-11-16T12:00:00",
            "9999-12-31T23:59:59",
            "0000-01-01T00:00:00",
            "/",
            "2026-11-15T12:00:00/",
            "/2026-11-15T13:00:00",
            "2026-11-15T12:00:00/2026-11-15T12:00:00",
            "2026-11-15T12:00:00/2026-11-15T12:30:00/2026-11-15T13:00:00",
            "2026-11-15T12:05:01/2026-11-15T13:00:00",
            "2026-11-31T12:00:00/2026-12-15T13:00:00",
            "now/2026-11-15T13:00:00",
        ],
    )
    def test_that_are_not_valid_are_refused(self, text: str) -> None:
        with pytest.raises(ValueOutOfRange):
            parse_end(text, 0, NOW)

    @given(st.datetimes(datetime(2027, 1, 1), datetime(9998, 1, 1)), st.integers(-14 * 60, 14 * 60))
    def test_come_back_as_they_were_set(self, moment: datetime, offset_minutes: int) -> None:
        moment = moment.replace(microsecond=0)
        at = parse_end(moment.isoformat(), offset_minutes, NOW)
        assert datetime.fromtimestamp(at, timezone(timedelta(minutes=offset_minutes))).replace(tzinfo=None) == moment

    @given(st.text() | st.from_regex(r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})?\Z"))
    @example("2027-01-01T00:00:00")
    def test_any_text_is_in_the_future_or_refused(self, text: str) -> None:
        with suppress(ValueOutOfRange):
            assert parse_end(text, 0, NOW) > NOW


NAMES = ["status", "level", "colorHSV", "mode", "function", "programs", "setPoint"]
PARTS = ["H", "S", "V", "number", "value", "unit"]
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(PARTS), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(NAMES), ANYTHING))
@example({"status": "on"})
@example({"mode": "off"})
def test_whatever_is_sent_is_a_command_or_a_refusal(body: Any) -> None:
    for read in (light, thermostat):
        with suppress(MalformedRequest, ValueOutOfRange):
            assert any(value is not None for value in msgspec.structs.astuple(read(body)))
