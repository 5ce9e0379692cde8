"""E17 to E19: sites, controllers, units and spare parts (Spec 2.15)."""

from datetime import datetime
from typing import Any

import pytest

from support.gateway import Gateway
from support.http import expect_nothing, expect_ok, expect_refusal
from support.spec_operations import E17, E18, E19

FINE = {"BLOCK.OK", "REMOTE.STATUS.OK"}


def in_failure(unit: dict[str, Any]) -> bool:
    return any(failure["failureType"] not in FINE for failure in unit["failures"])


def every_controller(gateway: Gateway) -> list[dict[str, Any]]:
    controllers = []
    for who, target in gateway.cases(E18):
        if gateway.estate.plant(target["plant"]).modules("emergency controller"):
            controllers += expect_ok(E18, gateway.send(E18, target, who=who))
    assert controllers
    return controllers


class TestE17Sites:
    def test_each_user_sees_exactly_their_own_sites(self, demo: Gateway) -> None:
        seen = 0
        for who in demo.people:
            mine = {plant.id: plant.record for plant in demo.estate.active_plants_of(who) if plant.is_site}
            answer = demo.send(E17, who=who)
            if not mine:
                expect_nothing(E17, answer)
                continue
            sites = expect_ok(E17, answer)
            assert {site["id"] for site in sites} == mine.keys()
            for site in sites:
                for name in ("name", "country", "address", "zipCode"):
                    assert site.get(name) == mine[site["id"]].get(name)
                seen += 1
        assert seen

    def test_a_user_without_sites_gets_204_and_no_body(self, demo: Gateway) -> None:
        expect_nothing(E17, demo.send(E17, who=demo.nobody))

    @pytest.mark.parametrize("kind", ["id_token", "access_token"])
    def test_either_kind_of_token_will_do(self, demo: Gateway, kind: str) -> None:
        for operation in (E17, E18, E19):
            who, target = demo.case(operation)
            expect_ok(operation, demo.send(operation, target, token=getattr(demo.people[who], kind)))


class TestE18Modules:
    def test_controllers_and_their_units_are_those_of_the_estate(self, demo: Gateway) -> None:
        checked = 0
        for who, target in demo.cases(E18):
            plant = demo.estate.plant(target["plant"])
            described = {module["id"]: module for module in plant.modules("emergency controller")}
            if not described:
                continue
            checked += 1
            controllers = {item["id"]: item for item in expect_ok(E18, demo.send(E18, target, who=who))}
            assert controllers.keys() == described.keys()
            for identity, module in described.items():
                assert controllers[identity]["name"] == module["name"]
                assert {unit["id"] for unit in controllers[identity]["children"]} == plant.units_of(identity)
        assert checked

    def test_a_controller_is_in_alert_once_as_many_units_as_its_level_are_in_failure(self, demo: Gateway) -> None:
        alerts = set()
        for controller in every_controller(demo):
            failing = sum(in_failure(unit) for unit in controller["children"])
            assert controller["alert"] == (failing >= controller["alertLevel"])
            alerts.add(controller["alert"])
        assert alerts == {True, False}

    def test_the_status_tells_working_from_failing_from_silent(self, demo: Gateway) -> None:
        seen = set()
        for controller in every_controller(demo):
            for thing in (controller, *controller["children"]):
                assert (thing["status"] == 0) == (not in_failure(thing))
                seen.add(thing["status"])
        assert seen == {0, 1, 2}

    def test_updates_are_neither_in_the_future_nor_at_the_beginning_of_time(self, demo: Gateway) -> None:
        seen = set()
        for controller in every_controller(demo):
            for thing in (controller, *controller["children"]):
                for name in {"lastStatusUpdate", "lastAlertUpdate"} & thing.keys():
                    age = datetime.now().astimezone() - datetime.fromisoformat(thing[name])
                    assert 0 <= age.days < 365, f"a time that cannot be right: {thing}"
                    seen.add(name)
        assert seen == {"lastStatusUpdate", "lastAlertUpdate"}

    def test_a_site_without_modules_gets_204_and_no_body(self, demo: Gateway) -> None:
        site = demo.estate.find_plants(
            lambda plant: plant.is_site and not plant.modules("emergency controller") and plant.owner in demo.good_people
        )[0]
        expect_nothing(E18, demo.send(E18, {"plant": site.id}, who=site.owner))

    def test_your_plant_that_is_no_site_is_400(self, demo: Gateway) -> None:
        plant = demo.estate.find_plants(lambda plant: not plant.is_site and plant.owner in demo.good_people)[0]
        expect_refusal(E18, demo.send(E18, {"plant": plant.id}, who=plant.owner), 400)


class TestE19SpareParts:
    def test_every_reference_of_the_catalogue_lists_its_parts(self, demo: Gateway) -> None:
        assert demo.estate.references()
        for entry in demo.estate.document["spareParts"]:
            answer = demo.send(E19, {"reference": entry["unit"]})
            assert expect_ok(E19, answer) == entry.get("parts", [])

    def test_a_known_reference_without_parts_is_an_empty_array(self, demo: Gateway) -> None:
        bare = [entry["unit"] for entry in demo.estate.document["spareParts"] if not entry.get("parts")]
        installed = {unit["reference"] for controller in every_controller(demo) for unit in controller["children"]}
        known = [*bare, *sorted(installed - set(demo.estate.references()))]
        assert known, "the demo estate has a unit without spare parts"
        for reference in known:
            assert expect_ok(E19, demo.send(E19, {"reference": reference})) == []

    def test_an_unknown_reference_is_400_and_named(self, demo: Gateway) -> None:
        body = expect_refusal(E19, demo.send(E19, {"reference": "no-such-reference"}), 400)
        assert "reference" in body["message"]
