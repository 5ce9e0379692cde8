"""X1 to X5 and X9 (docs/extensions.md). X6 to X8 are tested with webhooks, the common rules in `test_all_extensions.py`."""

import json
from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest

from support.extension_operations import X1, X2, X3, X4, X5, X9, expect_done, expect_listed
from support.gateway import Gateway, eventually
from support.http import expect_nothing, expect_ok, expect_refusal
from support.spec_operations import E3, E8, E12, E14, Operation, Target
from support.store_access import simulated


def read_thermostat(gateway: Gateway, who: str, target: Target) -> dict[str, Any]:
    body = expect_ok(E12, gateway.send(E12, target, who=who))
    thermostat: dict[str, Any] = body["chronothermostats"][0]
    return thermostat


def read_light(gateway: Gateway, who: str, target: Target) -> dict[str, Any]:
    light: dict[str, Any] = expect_ok(E8, gateway.send(E8, target, who=who))["lights"][0]
    return light


def tell(gateway: Gateway, operation: Operation, who: str, target: Target, order: Any) -> httpx.Response:
    return gateway.send(operation, target, who=who, body=json.dumps(order).encode())


class TestX1SetChronothermostat:
    def test_what_is_set_is_what_e12_shows(self, workshop: Gateway) -> None:
        who, target = workshop.case(X1)
        order: dict[str, Any] = {"function": "cooling", "mode": "manual", "setPoint": {"value": "23.5", "unit": "C"}}
        expect_done(X1, tell(workshop, X1, who, target, order))
        shown = read_thermostat(workshop, who, target)
        assert (shown["function"], shown["mode"], shown["setPoint"]) == ("cooling", "manual", {"value": "23.5", "unit": "C"})
        expect_done(X1, tell(workshop, X1, who, target, {"function": "heating"}))
        shown = read_thermostat(workshop, who, target)
        assert (shown["function"], shown["mode"]) == ("heating", "manual")
        assert shown["setPoint"] == {"value": "23.5", "unit": "C"}, "what is left out stays as it is"
        order = {"mode": "automatic", "programs": [{"number": 2}]}
        expect_done(X1, tell(workshop, X1, who, target, order))
        shown = read_thermostat(workshop, who, target)
        assert (shown["function"], shown["mode"], shown["programs"]) == ("heating", "automatic", [{"number": 2}])

    def test_fahrenheit_becomes_celsius_and_numbers_will_do(self, workshop: Gateway) -> None:
        who, target = workshop.case(X1)
        for value, unit, shown in ((68, "F", "20"), ("70.7", "F", "21.5"), (19.5, "C", "19.5")):
            order: dict[str, Any] = {"mode": "manual", "setPoint": {"value": value, "unit": unit}}
            expect_done(X1, tell(workshop, X1, who, target, order))
            assert read_thermostat(workshop, who, target)["setPoint"] == {"value": shown, "unit": "C"}

    def test_a_mode_is_kept_until_a_time_on_the_thermostats_clock(self, workshop: Gateway) -> None:
        who, target = workshop.case(X1)
        clock = datetime.fromisoformat(read_thermostat(workshop, who, target)["time"])
        until = (clock + timedelta(hours=1)).replace(tzinfo=None).isoformat()
        expect_done(X1, tell(workshop, X1, who, target, {"mode": "boost", "activationTime": until}))
        shown = read_thermostat(workshop, who, target)
        assert (shown["mode"], shown["activationTime"]) == ("boost", until)
        assert "setPoint" not in shown
        expect_done(X1, workshop.send(X1, target, who=who))

    def test_applications_in_the_field_are_understood(self, workshop: Gateway) -> None:
        """They write words in upper case, units with a degree sign, and the time as an interval or as an empty string."""
        who, target = workshop.case(X1)
        order: dict[str, Any] = {
            "function": "HEATING",
            "mode": "MANUAL",
            "setPoint": {"value": 22.5, "unit": "°C"},
            "activationTime": "",
        }
        expect_done(X1, tell(workshop, X1, who, target, order))
        shown = read_thermostat(workshop, who, target)
        assert (shown["function"], shown["mode"], shown["setPoint"]["value"]) == ("heating", "manual", "22.5")
        assert "activationTime" not in shown
        clock = datetime.fromisoformat(shown["time"]).replace(tzinfo=None)
        until = (clock + timedelta(minutes=30)).isoformat()
        order = {"function": "Heating", "mode": "Boost", "activationTime": f"{clock.isoformat()}/{until}"}
        expect_done(X1, tell(workshop, X1, who, target, order))
        shown = read_thermostat(workshop, who, target)
        assert (shown["mode"], shown["activationTime"]) == ("boost", until)
        expect_done(X1, workshop.send(X1, target, who=who))

    @pytest.mark.parametrize(
        "order",
        [
            {},
            {"mode": "by hand"},
            {"function": "off"},
            {"setPoint": {"value": "2.9", "unit": "C"}},
            {"setPoint": {"value": 40.1, "unit": "C"}},
            {"setPoint": {"value": 36, "unit": "F"}},
            {"setPoint": {"value": 20, "unit": "K"}},
            {"setPoint": {"value": 20}},
            {"programs": [{"number": 11}]},
            {"programs": [{"number": 12}]},
            {"programs": []},
            {"activationTime": "2020-01-01T00:00:00"},
            {"activationTime": "tomorrow"},
            {"mode": "off", "setPoint": {"value": "warm", "unit": "C"}},
            [],
            None,
        ],
        ids=json.dumps,
    )
    def test_what_is_wrong_is_400_and_changes_nothing(self, workshop: Gateway, order: Any) -> None:
        who, target = workshop.case(X1)
        # In manual mode, so that no program changes it during the test.
        expect_done(X1, tell(workshop, X1, who, target, {"mode": "manual", "setPoint": {"value": "20", "unit": "C"}}))
        told = ("function", "mode", "setPoint", "programs", "activationTime")
        before = {name: read_thermostat(workshop, who, target).get(name) for name in told}
        expect_refusal(X1, tell(workshop, X1, who, target, order), 400)
        assert {name: read_thermostat(workshop, who, target).get(name) for name in told} == before

    @pytest.mark.parametrize(
        ("how", "status"), [("offline", 404), pytest.param("slow", 408, marks=pytest.mark.slow), ("refusing", 500)]
    )
    def test_a_device_that_does_not_obey_is_told_by_the_ladder(self, workshop: Gateway, how: str, status: int) -> None:
        who, target = workshop.case(X1)
        with simulated(workshop, target["module"], how):
            expect_refusal(X1, workshop.send(X1, target, who=who), status)
        expect_done(X1, workshop.send(X1, target, who=who))


class TestX2SetLight:
    def test_what_is_set_is_what_e8_shows(self, workshop: Gateway) -> None:
        who, target = next(case for case in workshop.cases(X2) if "colorHSV" in read_light(workshop, *case))
        color = {"H": 200.5, "S": 30.0, "V": 35.0}
        expect_done(X2, tell(workshop, X2, who, target, {"status": "on", "level": 35, "colorHSV": {**color, "V": 70.0}}))
        shown = settled_light(workshop, who, target, {"status": "on", "level": 35})
        assert shown["colorHSV"] == color
        expect_done(X2, tell(workshop, X2, who, target, {"status": "off"}))
        assert settled_light(workshop, who, target, {"status": "off"})["colorHSV"] == color, "what is left out stays as it is"

    @pytest.mark.parametrize(
        "order",
        [
            {},
            {"status": "ON"},
            {"status": "toggle"},
            {"status": True},
            {"level": 101},
            {"level": -1},
            {"level": 0.5},
            {"level": "50"},
            {"colorHSV": {"H": 361, "S": 0, "V": 0}},
            {"colorHSV": {"H": 1}},
            {"status": "on", "level": 500},
            {"status": "on", "level": 0},
            {"status": "on", "colorHSV": {"H": 1, "S": 1, "V": 0}},
            "on",
        ],
        ids=json.dumps,
    )
    def test_what_is_wrong_is_400_and_changes_nothing(self, workshop: Gateway, order: Any) -> None:
        who, target = workshop.case(X2)
        # Wait until the light has reached the level.
        expect_done(X2, tell(workshop, X2, who, target, {"status": "on", "level": 35}))
        before = settled_light(workshop, who, target, {"status": "on", "level": 35})
        expect_refusal(X2, tell(workshop, X2, who, target, order), 400)
        assert read_light(workshop, who, target) == before

    def test_a_level_for_a_lamp_without_levels_is_400_and_changes_nothing(self, workshop: Gateway) -> None:
        who, target = next(case for case in workshop.cases(X2) if "level" not in read_light(workshop, *case))
        before = read_light(workshop, who, target)
        for order in ({"level": 50}, {"status": "on", "level": 50}, {"colorHSV": {"H": 1, "S": 1, "V": 50}}):
            expect_refusal(X2, tell(workshop, X2, who, target, order), 400)
        assert read_light(workshop, who, target) == before

    @pytest.mark.parametrize(
        ("how", "status"), [("offline", 404), pytest.param("slow", 404, marks=pytest.mark.slow), ("refusing", 500)]
    )
    def test_a_device_that_does_not_obey_is_told_by_the_ladder(self, workshop: Gateway, how: str, status: int) -> None:
        who, target = workshop.case(X2)
        with simulated(workshop, target["module"], how):
            expect_refusal(X2, workshop.send(X2, target, who=who), status)
        expect_done(X2, workshop.send(X2, target, who=who))


def settled_light(gateway: Gateway, who: str, target: Target, wanted: dict[str, Any]) -> dict[str, Any]:
    """A light needs some time to reach the level that it confirmed."""
    eventually(lambda: wanted.items() <= read_light(gateway, who, target).items(), f"the light is {wanted}")
    return read_light(gateway, who, target)


class TestX3AndX4FindThermostats:
    def test_the_plants_are_those_of_e14(self, demo: Gateway) -> None:
        for who in demo.good_people:
            other = demo.send(E14, who=who)
            if other.status_code == 204:
                expect_nothing(X3, demo.send(X3, who=who))
            else:
                assert expect_listed(X3, demo.send(X3, who=who)) == expect_ok(E14, other)
        expect_nothing(X3, demo.send(X3, who=demo.nobody))

    def test_a_topology_has_all_thermostats_and_nothing_else(self, demo: Gateway) -> None:
        seen = 0
        for who, target in demo.cases(X4):
            shown = expect_listed(X4, demo.send(X4, target, who=who))["plant"]
            plant = demo.estate.plant(target["plant"])
            assert (shown["id"], shown["name"]) == (plant.id, plant.record["name"])
            wanted = {(module["id"], module["name"]) for module in plant.modules("chronothermostat")}
            assert {(module["id"], module["name"]) for module in shown["modules"]} == wanted
            seen += len(wanted)
        assert seen > 3

    def test_what_is_found_so_can_be_read(self, demo: Gateway) -> None:
        who, _ = demo.case(X1)
        found = [
            {"plant": plant["id"], "module": module["id"]}
            for plant in expect_listed(X3, demo.send(X3, who=who))["plants"]
            for module in expect_listed(X4, demo.send(X4, {"plant": plant["id"]}, who=who))["plant"]["modules"]
        ]
        assert {"plant": found[0]["plant"], "module": found[0]["module"]} in [target for _, target in demo.cases(E12)]
        expect_ok(E12, demo.send(E12, found[0], who=who))


class TestX5FindPlants:
    def test_the_plants_are_those_of_e14_in_home_controls_spelling(self, demo: Gateway) -> None:
        for who in demo.good_people:
            other = demo.send(E14, who=who)
            if other.status_code == 204:
                expect_nothing(X5, demo.send(X5, who=who))
                continue
            wanted = [
                {
                    **plant,
                    "id": plant["id"].replace("-", ""),
                    "country": demo.estate.plant(plant["id"]).record.get("country", ""),
                }
                for plant in expect_ok(E14, other)["plants"]
            ]
            assert expect_listed(X5, demo.send(X5, who=who))["plants"] == wanted

    def test_what_is_listed_has_a_topology(self, demo: Gateway) -> None:
        who, _ = demo.case(E3)
        for plant in expect_listed(X5, demo.send(X5, who=who))["plants"]:
            assert expect_ok(E3, demo.send(E3, {"plant": plant["id"]}, who=who))["plant"]["id"] == plant["id"]

    def test_it_is_of_its_family(self, demo: Gateway) -> None:
        who, _ = demo.case(E3)
        assert demo.send(X5, who=who).headers["deprecation"]
        expect_refusal(X5, demo.send(X5, who=who, headers={"Accept": "text/xml"}), 406)
        expect_refusal(X5, demo.send(X5, token=demo.people[who].id_token), 401)


class TestX9ReadMeasures:
    def test_they_are_those_of_e12(self, demo: Gateway) -> None:
        seen: set[str] = set()
        for who, target in demo.cases(X9):
            shown = expect_listed(X9, demo.send(X9, target, who=who))
            status = read_thermostat(demo, who, target)
            assert shown.keys() == status.keys() & {"thermometer", "hygrometer"}
            seen |= shown.keys()
        assert seen == {"thermometer", "hygrometer"}

    def test_a_disconnected_thermostat_has_none(self, workshop: Gateway) -> None:
        who, target = workshop.case(X9)
        with simulated(workshop, target["module"], "offline"):
            expect_refusal(X9, workshop.send(X9, target, who=who), 404)
