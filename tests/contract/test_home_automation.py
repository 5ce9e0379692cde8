"""E5 to E8: the home automation family (Spec 2.2, 2.4, 2.7)."""

from collections.abc import Callable
from typing import Any

import jwt
import pytest

from support.estate_view import PlantView
from support.gateway import Gateway, eventually
from support.http import expect_nothing, expect_ok
from support.spec_operations import E1, E5, E6, E7, E8, E12

SPELLED = {"hotel": "Hotel", "house": "House", "office": "Office", "hospital": "Hospital"}
SYSTEMS = {"light": ("Light", "Lighting"), "automation": ("Automation", "Automation"), "scene": ("Scene", "Scene")}


class TestE5RunScene:
    def test_every_scene_starts_and_answers_with_no_body(self, demo: Gateway) -> None:
        cases = list(demo.cases(E5))
        assert cases
        for who, target in cases:
            answer = demo.send(E5, target, who=who)
            assert answer.status_code == 200, answer.text
            assert answer.content == b""

    @pytest.mark.slow
    def test_what_a_scene_does_shows_in_later_reads(self, demo: Gateway) -> None:
        seen = 0
        for who, target in demo.cases(E5):
            plant = demo.estate.plant(target["plant"])
            scene = next(module for module in plant.modules("scene") if module["id"] == target["module"])
            away = {module["id"] for module in plant.every_module() if demo.estate.unreachable(module)}
            last = {step["module"]: step for step in scene.get("steps", ()) if step["module"] not in away}
            effects = [effect for step in last.values() if (effect := self.effect(demo, who, plant, step)) is not None]
            assert demo.send(E5, target, who=who).status_code == 200
            for has_happened in effects:
                eventually(has_happened, f"the effects of {scene['name']} in {plant.record['name']}")
            seen += len(effects)
        assert seen

    def effect(self, gateway: Gateway, who: str, plant: PlantView, step: dict[str, Any]) -> Callable[[], bool] | None:
        """A check through the contract that this step was executed; None if no operation shows it."""
        target = {"plant": plant.id, "module": step["module"]}

        def light_is_set() -> bool:
            light = expect_ok(E8, gateway.send(E8, target, who=who))["lights"][0]
            wanted = {"status": "on" if step["on"] else "off"} if "on" in step else {}
            wanted |= {"level": step["level"]} if "level" in step and step.get("on", True) else {}
            return bool(light.items() >= wanted.items())

        def plug_is_switched() -> bool:
            return gateway.plug_states(plant)[step["module"]] == [step["on"]]

        def thermostat_is_set() -> bool:
            thermostat = expect_ok(E12, gateway.send(E12, target, who=who))["chronothermostats"][0]
            wanted = {name: step[name] for name in ("function", "mode") if name in step}
            return bool(thermostat.items() >= wanted.items())

        shown = {"set light": light_is_set, "switch plug": plug_is_switched, "set thermostat": thermostat_is_set}
        return shown.get(step["do"])

    def test_a_scene_switches_a_plug_that_stood_the_other_way(self, demo: Gateway) -> None:
        who, target, step = next(
            (who, target, step)
            for who, target in demo.cases(E5)
            for module in demo.estate.plant(target["plant"]).modules("scene")
            if module["id"] == target["module"]
            for step in module.get("steps", ())
            if step["do"] == "switch plug"
        )
        plant = demo.estate.plant(target["plant"])
        room = next(room for room in plant.plug_ambients if any(m["id"] == step["module"] for m in room["modules"]))
        other = b'{"status": "%s"}' % (b"off" if step["on"] else b"on")
        assert demo.send(E1, {"plant": plant.id, "ambient": room["id"]}, who=who, body=other).status_code == 200
        assert demo.plug_states(plant)[step["module"]] == [not step["on"]]
        assert demo.send(E5, target, who=who).status_code == 200
        eventually(lambda: demo.plug_states(plant)[step["module"]] == [step["on"]], "the scene switched the plug")


class TestE6ListPlants:
    def test_each_user_sees_their_own_plants_and_removed_ones_as_removed(self, demo: Gateway) -> None:
        seen = 0
        for who in demo.people:
            mine = {plant.id: plant for plant in demo.estate.plants if who in plant.people}
            if not mine:
                continue
            plants = expect_ok(E6, demo.send(E6, who=who))["plants"]
            assert {plant["id"] for plant in plants} == mine.keys()
            for plant in plants:
                record = mine[plant["id"]].record
                assert plant["name"] == record["name"]
                assert plant["type"] == SPELLED[record["type"]]
                assert plant["status"] == ("Active" if mine[plant["id"]].active else "Removed")
                assert plant.get("country") == record.get("country")
                assert plant.get("address") == record.get("address")
                assert {user["email"] for user in plant["allowedUsers"]} == mine[plant["id"]].people - {record["owner"]}
                assert {user["email"] for user in plant["invitedUsers"]} == set(record.get("invited", ()))
                seen += 1
        assert seen

    def test_a_postal_code_with_letters_is_left_out_and_one_of_digits_printed(self, demo: Gateway) -> None:
        seen: dict[bool, int] = {True: 0, False: 0}
        for plant in demo.estate.find_plants(lambda plant: "zipCode" in plant.record):
            listed = expect_ok(E6, demo.send(E6, who=demo.a_person_of(plant)))["plants"]
            shown = next(item for item in listed if item["id"] == plant.id)
            code = str(plant.record["zipCode"])
            assert shown.get("zipCode") == (code if code.isascii() and code.isdigit() else None)
            seen["zipCode" in shown] += 1
        assert seen[True]

    def test_a_user_without_plants_gets_204_and_no_body(self, demo: Gateway) -> None:
        expect_nothing(E6, demo.send(E6, who=demo.nobody))

    def test_the_ownerid_is_the_subject_of_the_owners_token(self, demo: Gateway) -> None:
        who, _ = demo.case(E6)
        claims = jwt.decode(demo.people[who].id_token, options={"verify_signature": False})
        plants = expect_ok(E6, demo.send(E6, who=who))["plants"]
        owned = {plant.id for plant in demo.estate.plants if plant.owner == who}
        assert {plant["id"] for plant in plants if plant["ownerId"] == claims["sub"]} == owned


class TestE7PlantTopology:
    @staticmethod
    def described(modules: list[dict[str, Any]]) -> list[tuple[str, ...]]:
        return sorted(
            (module["id"], module["name"], *SYSTEMS[module["kind"]]) for module in modules if module["kind"] in SYSTEMS
        )

    @staticmethod
    def printed(modules: list[dict[str, Any]]) -> list[tuple[str, ...]]:
        return sorted((module["id"], module["name"], module["device"], module["system"]) for module in modules)

    def described_rooms(self, rooms: list[dict[str, Any]]) -> dict[str, Any]:
        return {room["id"]: (room["name"], self.described(room.get("modules", []))) for room in rooms}

    def printed_rooms(self, rooms: list[dict[str, Any]]) -> dict[str, Any]:
        return {room["id"]: (room["name"], self.printed(room["modules"])) for room in rooms}

    def test_floors_rooms_and_modules_stand_where_the_estate_puts_them(self, demo: Gateway) -> None:
        for who, target in demo.cases(E7):
            plant = demo.estate.plant(target["plant"])
            body = expect_ok(E7, demo.send(E7, target, who=who))["plant"]
            assert (body["id"], body["name"], body["type"]) == (plant.id, plant.record["name"], SPELLED[plant.record["type"]])
            assert {floor["id"]: (floor["name"], self.printed_rooms(floor["ambients"])) for floor in body["floors"]} == {
                floor["id"]: (floor["name"], self.described_rooms(floor.get("ambients", []))) for floor in plant.floors
            }
            assert self.printed_rooms(body["ambients"]) == self.described_rooms(plant.loose_ambients)
            assert self.printed(body["modules"]) == self.described(plant.loose_modules)

    def test_a_scene_is_a_full_module_record_with_empty_metrics(self, demo: Gateway) -> None:
        who, target = demo.case(E5)
        body = expect_ok(E7, demo.send(E7, {"plant": target["plant"]}, who=who))["plant"]
        scene = next(module for module in body["modules"] if module["id"] == target["module"])
        assert scene["metrics"] == []
        assert scene["deviceType"]

    def test_internal_ids_are_other_than_ids_and_stay_the_same(self, demo: Gateway) -> None:
        who, target = demo.case(E7)
        first = expect_ok(E7, demo.send(E7, target, who=who))["plant"]
        second = expect_ok(E7, demo.send(E7, target, who=who))["plant"]
        assert first == second
        assert first["internalId"] != first["id"]


class TestE8LightStatus:
    def test_every_light_answers_and_names_its_plant_and_itself(self, demo: Gateway) -> None:
        cases = list(demo.cases(E8))
        assert cases
        for who, target in cases[:150]:
            plant = demo.estate.plant(target["plant"])
            light = next(module for module in plant.every_module() if module["id"] == target["module"])
            sender = expect_ok(E8, demo.send(E8, target, who=who))["lights"][0]["sender"]
            assert (sender["plant"]["id"], sender["plant"]["name"], sender["plant"]["type"]) == (
                plant.id,
                plant.record["name"],
                SPELLED[plant.record["type"]],
            )
            assert (sender["plant"]["module"]["id"], sender["plant"]["module"]["name"]) == (light["id"], light["name"])

    def test_allowed_users_read_as_the_owner_does(self, demo: Gateway) -> None:
        plant = demo.estate.find_plants(
            lambda plant: bool(plant.modules("light")) and bool((plant.people - {plant.owner}) & set(demo.good_people))
        )[0]
        guest = next(iter((plant.people - {plant.owner}) & set(demo.good_people)))
        light = next(module for module in plant.modules("light") if not demo.estate.unreachable(module))
        expect_ok(E8, demo.send(E8, {"plant": plant.id, "module": light["id"]}, who=guest))

    def test_upper_case_ids_are_the_same_and_lower_case_is_printed(self, demo: Gateway) -> None:
        who, target = demo.case(E8)
        answer = demo.send(E8, {key: value.upper() for key, value in target.items()}, who=who)
        assert expect_ok(E8, answer)["lights"][0]["sender"]["plant"]["module"]["id"] == target["module"]
