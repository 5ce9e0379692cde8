"""X1 to X5 and X9: the extensions (docs/extensions.md). X6 to X8 are tested with webhooks."""

import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest

from domogate.domain.people import Standing
from support.extension_operations import EXTENSIONS, SUBSCRIPTIONS, X1, X2, X3, X4, X5, X9, expect_done, expect_listed
from support.gateway import Gateway, eventually
from support.http import expect_nothing, expect_ok, expect_refusal
from support.spec_operations import ALL_SCOPES, E3, E8, E9, E12, E14, Operation, Target
from support.store_access import issue_token, simulated, standing


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


class TestAllOfThem:
    @pytest.mark.parametrize("operation", [X3, X5, SUBSCRIPTIONS[1]], ids=str)
    def test_lists_may_be_asked_for_with_a_slash_at_the_end(self, demo: Gateway, operation: Operation) -> None:
        who, target = demo.case(operation)
        plain, slashed = (
            demo.send(replace(operation, path=path), target, who=who) for path in (operation.path, f"{operation.path}/")
        )
        assert plain.status_code in (200, 204)
        assert (slashed.status_code, slashed.content) == (plain.status_code, plain.content)

    @pytest.mark.parametrize("operation", [X1, X4, X9], ids=str)
    def test_other_operations_have_no_slash_at_the_end(self, demo: Gateway, operation: Operation) -> None:
        who, target = demo.case(operation)
        slashed = replace(operation, path=f"{operation.path}/")
        expect_refusal(operation, demo.send(slashed, target, who=who), 404)

    @pytest.mark.parametrize("operation", EXTENSIONS, ids=str)
    def test_each_needs_its_own_scope_and_a_key(self, demo: Gateway, operation: Operation) -> None:
        who, target = demo.case(operation)
        others = tuple(scope for scope in ALL_SCOPES if scope not in operation.scopes)
        token = issue_token(demo, who, operation.token, others)
        expect_refusal(operation, demo.send(operation, target, token=token), 401)
        expect_refusal(operation, demo.send(operation, target, who=who, key=None), 401)
        expect_refusal(operation, demo.send(operation, target, token=None), 401)

    @pytest.mark.parametrize(("operation", "status"), [(X1, 401), (X2, 403), (X4, 401)], ids=str)
    def test_a_stranger_is_refused_before_their_values_are_looked_at(
        self, demo: Gateway, operation: Operation, status: int
    ) -> None:
        _, target = demo.case(operation)
        stranger = demo.a_stranger_to(demo.estate.plant(target["plant"]))
        body = None if operation.body is None else b'{"mode": "x", "status": "x"}'
        expect_refusal(operation, demo.send(operation, target, who=stranger, body=body), status)

    def test_a_module_of_another_kind_is_404(self, demo: Gateway) -> None:
        who, light = demo.case(X2)
        expect_refusal(X1, demo.send(X1, light, who=who), 404)
        who, thermostat = demo.case(X1)
        expect_refusal(X2, demo.send(X2, thermostat, who=who), 404)

    @pytest.mark.parametrize("operation", [X3, X4, X5], ids=str)
    def test_lists_and_topologies_are_told_once(self, demo: Gateway, operation: Operation) -> None:
        who, target = demo.case(operation)
        etag = demo.send(operation, target, who=who).headers["etag"]
        again = demo.send(operation, target, who=who, headers={"If-None-Match": etag})
        assert (again.status_code, again.content) == (304, b"")

    def test_a_user_in_bad_standing_is_refused_in_the_whole_thermostat_family(self, workshop: Gateway) -> None:
        who, target = workshop.case(X1)
        with standing(workshop, who, Standing.TERMS_EXPIRED):
            for operation in (X1, X3, X4, X9):
                expect_refusal(operation, workshop.send(operation, target, who=who), 470)
            expect_listed(X5, workshop.send(X5, who=who))

    @pytest.mark.parametrize("operation", [E8, E12], ids=str)
    def test_a_path_that_has_both_says_so(self, demo: Gateway, operation: Operation) -> None:
        _, target = demo.case(operation)
        answer = demo.api.http.request("DELETE", operation.url(target))
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD, POST")

    def test_the_documents_mark_them_and_nothing_else(self, demo: Gateway) -> None:
        marked = set()
        for url in demo.api.http.get("/openapi").json()["documents"].values():
            for methods in demo.api.http.get(url).json()["paths"].values():
                marked |= {described["x-operation"] for described in methods.values() if described.get("x-extension")}
        assert marked == {operation.name for operation in (*EXTENSIONS, *SUBSCRIPTIONS)}

    def test_commands_are_in_the_audit_log(self, workshop: Gateway) -> None:
        told = {operation: workshop.case(operation) for operation in (X1, X2)}
        for operation, (who, target) in told.items():
            expect_done(operation, workshop.send(operation, target, who=who))

        def noted() -> str:
            return workshop.domogate("audit", "list", "--limit", "100000", "--json")

        eventually(lambda: all(f"{operation} set" in log for log in [noted()] for operation in told), "both are noted")
        log = noted()
        for who, target in told.values():
            assert target["module"] in log
            assert who not in log

    def test_e9_stays_without_thermostats(self, demo: Gateway) -> None:
        for who, target in demo.cases(E9):
            modules = expect_ok(E9, demo.send(E9, target, who=who))["plant"]["modules"]
            assert all(module["device"] != "chronothermostat" for module in modules)
