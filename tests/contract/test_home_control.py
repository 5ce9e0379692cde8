"""E1 to E4: the home control family (Spec 2.6, 2.12, 2.13)."""

from datetime import datetime
from typing import Any

import pytest

from support.gateway import Gateway
from support.http import expect_ok, expect_refusal
from support.spec_operations import E1, E2, E3, E4, Target

KINDS = ("plug", "heater", "light", "automation", "energymeter", "remote")
LONGEST_DAY = 25 * 3600.0
"""In seconds: the day on which the clock is set back."""


class TestE1SetPlugStatus:
    @pytest.mark.parametrize("status", ["off", "on"])
    def test_every_plug_of_the_ambient_is_switched_and_the_multisocket_family_sees_it(self, demo: Gateway, status: str) -> None:
        who, target = demo.case(E1)
        plant = demo.estate.plant(target["plant"])
        ambient = next(room for room in plant.plug_ambients if room["id"] == target["ambient"])
        switched = {module["id"] for module in ambient["modules"] if module["kind"] == "plug"}
        before = demo.plug_states(plant)

        answer = demo.send(E1, target, who=who, body=b'{"status": "%s"}' % status.encode())

        assert answer.status_code == 200, answer.text
        after = demo.plug_states(plant)
        assert {plug: after[plug] for plug in switched} == {plug: [status == "on"] for plug in switched}
        others = before.keys() - switched
        assert {plug: after[plug] for plug in others} == {plug: before[plug] for plug in others}

    def test_the_body_of_a_200_is_empty(self, demo: Gateway) -> None:
        who, target = demo.case(E1)
        answer = demo.send(E1, target, who=who)
        assert answer.status_code == 200
        assert answer.content == b""

    def test_every_ambient_with_plugs_takes_the_command(self, demo: Gateway) -> None:
        cases = list(demo.cases(E1))
        assert cases
        for who, target in cases[:40]:
            assert demo.send(E1, target, who=who).status_code == 200

    def test_an_ambient_without_plugs_is_404(self, demo: Gateway) -> None:
        plant, room = next(
            (plant, room)
            for plant in demo.estate.find_plants(lambda plant: plant.owner in demo.good_people)
            for room in plant.every_ambient()
            if room not in plant.plug_ambients
        )
        answer = demo.send(E1, {"plant": plant.id, "ambient": room["id"]}, who=plant.owner)
        expect_refusal(E1, answer, 404)

    def test_a_json_body_without_content_type_is_accepted(self, demo: Gateway) -> None:
        who, target = demo.case(E1)
        answer = demo.send(E1, target, who=who, headers={"Content-Type": ""})
        assert answer.status_code == 200

    def test_content_type_may_name_a_charset(self, demo: Gateway) -> None:
        who, target = demo.case(E1)
        answer = demo.send(E1, target, who=who, headers={"Content-Type": "Application/JSON; charset=UTF-8"})
        assert answer.status_code == 200


class TestE2RemoteStatus:
    def test_every_remote_answers_with_its_own_id(self, demo: Gateway) -> None:
        cases = list(demo.cases(E2))
        assert cases
        for who, target in cases:
            body = expect_ok(E2, demo.send(E2, target, who=who))
            assert body["remotes"][0]["sender"]["plant"]["module"]["id"] == E2.spell(target["module"])

    def test_a_remote_that_cannot_be_reached_says_so_with_its_last_battery(self, demo: Gateway) -> None:
        plant, remote = next(
            (plant, module)
            for plant in demo.estate.find_plants(lambda plant: plant.owner in demo.good_people)
            for module in plant.modules("remote")
            if demo.estate.unreachable(module) and not demo.estate.troubled(module)
        )
        body = expect_ok(E2, demo.send(E2, {"plant": plant.id, "module": remote["id"]}, who=plant.owner))
        assert body["remotes"][0]["reachable"] is False
        assert body["remotes"][0]["battery"]


class TestE3PlantTopology:
    @staticmethod
    def described(modules: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
        return sorted((E3.spell(module["id"]), module["name"], module["kind"]) for module in modules if module["kind"] in KINDS)

    @staticmethod
    def printed(modules: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
        return sorted((module["id"], module["name"], module["device"]) for module in modules)

    def test_the_ambients_of_all_floors_are_flattened_and_hold_the_modules_this_family_knows(self, demo: Gateway) -> None:
        for who, target in demo.cases(E3):
            plant = demo.estate.plant(target["plant"])
            body = expect_ok(E3, demo.send(E3, target, who=who))["plant"]
            assert body["id"] == E3.spell(plant.id)
            rooms = {room["id"]: room for room in body["ambients"]}
            assert rooms.keys() == {E3.spell(room["id"]) for room in plant.every_ambient()}
            for room in plant.every_ambient():
                shown = rooms[E3.spell(room["id"])]
                assert shown["name"] == room["name"]
                assert shown["type"] == room.get("type", shown["type"])
                assert self.printed(shown["modules"]) == self.described(room.get("modules", []))

    def test_the_modules_of_the_plant_are_those_in_no_ambient(self, demo: Gateway) -> None:
        for who, target in demo.cases(E3):
            body = expect_ok(E3, demo.send(E3, target, who=who))["plant"]
            assert self.printed(body["modules"]) == self.described(demo.estate.plant(target["plant"]).loose_modules)


class TestE4PlugConsumption:
    def test_every_plug_has_consumptions_within_bounds(self, demo: Gateway) -> None:
        cases = list(demo.cases(E4))
        assert cases
        for who, target in cases[:60]:
            for item in expect_ok(E4, demo.send(E4, target, who=who))["consumptions"]:
                assert not item["timestamp"].startswith("1970"), f"a made-up moment: {item}"

    def test_a_plug_that_is_on_reports_power_and_energy_of_today(self, demo: Gateway) -> None:
        who, target = self.a_plug_that_is_on(demo)
        consumptions = expect_ok(E4, demo.send(E4, target, who=who))["consumptions"]
        assert {item["unit"] for item in consumptions} == {"watt", "watt_hour"}
        now = datetime.now().astimezone()
        ages = [(now - datetime.fromisoformat(item["timestamp"])).total_seconds() for item in consumptions]
        assert all(-2 < age <= LONGEST_DAY for age in ages), f"made-up moments: {consumptions}"

    def test_a_plug_that_is_switched_off_draws_no_power(self, demo: Gateway) -> None:
        who, target = self.a_plug_that_is_on(demo)
        before = expect_ok(E4, demo.send(E4, target, who=who))["consumptions"]
        ambient = demo.case(E1)[1]
        assert demo.send(E1, ambient, who=who, body=b'{"status": "off"}').status_code == 200
        after = expect_ok(E4, demo.send(E4, target, who=who))["consumptions"]
        watts = {item["unit"]: item for item in after}["watt"]
        assert watts["value"] == 0
        assert watts["timestamp"] >= {item["unit"]: item for item in before}["watt"]["timestamp"]

    def a_plug_that_is_on(self, gateway: Gateway) -> tuple[str, Target]:
        who, ambient = gateway.case(E1)
        assert gateway.send(E1, ambient, who=who).status_code == 200
        room = next(room for room in gateway.estate.plant(ambient["plant"]).plug_ambients if room["id"] == ambient["ambient"])
        plug = next(module for module in room["modules"] if module["kind"] == "plug")
        return who, {"plant": ambient["plant"], "module": plug["id"]}
