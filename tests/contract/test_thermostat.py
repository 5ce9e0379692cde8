"""E12 and E13: chronothermostats (Spec 2.8, 2.9)."""

from datetime import datetime
from typing import Any

from support.gateway import Gateway
from support.http import expect_ok, expect_refusal
from support.spec_operations import E12, E13


def every_thermostat(gateway: Gateway) -> list[dict[str, Any]]:
    bodies = [expect_ok(E12, gateway.send(E12, target, who=who)) for who, target in gateway.cases(E12)]
    return [body["chronothermostats"][0] for body in bodies]


class TestE12ChronothermostatStatus:
    def test_every_thermostat_answers_and_names_its_plant_and_itself(self, demo: Gateway) -> None:
        cases = list(demo.cases(E12))
        assert cases
        for who, target in cases:
            sender = expect_ok(E12, demo.send(E12, target, who=who))["chronothermostats"][0]["sender"]
            assert sender["plant"] == {"id": target["plant"], "module": {"id": target["module"]}}

    def test_its_clock_is_the_present_in_its_own_offset(self, demo: Gateway) -> None:
        for thermostat in every_thermostat(demo):
            moment = datetime.fromisoformat(thermostat["time"])
            assert abs((moment - datetime.now(moment.tzinfo)).total_seconds()) < 120

    def test_measures_are_in_the_scale_of_the_thermostat_and_near_room_temperature(self, demo: Gateway) -> None:
        seen = 0
        for thermostat in every_thermostat(demo):
            for measure in thermostat.get("thermometer", {}).get("measures", ()):
                assert measure["unit"] == thermostat["temperatureFormat"]
                value = float(measure["value"])
                celsius = (value - 32) * 5 / 9 if measure["unit"] == "F" else value
                assert -10 < celsius < 50
                assert abs((datetime.fromisoformat(measure["timeStamp"]) - datetime.now().astimezone()).days) < 2, (
                    "a time that cannot be right"
                )
                seen += 1
            for measure in thermostat.get("hygrometer", {}).get("measures", ()):
                assert 0 <= float(measure["value"]) <= 100
                seen += 1
        assert seen

    def test_a_disconnected_thermostat_is_404(self, demo: Gateway) -> None:
        away = [
            (plant, module)
            for plant in demo.estate.find_plants(lambda plant: bool(plant.people & set(demo.good_people)))
            for module in plant.modules("chronothermostat")
            if demo.estate.unreachable(module) and not demo.estate.troubled(module)
        ]
        assert away, "the demo estate has a thermostat that is offline"
        for plant, module in away:
            for operation in (E12, E13):
                target = {"plant": plant.id, "module": module["id"]}
                expect_refusal(operation, demo.send(operation, target, who=demo.a_person_of(plant)), 404)


class TestE13ProgramList:
    def test_every_thermostat_lists_its_programs_as_the_estate_names_them(self, demo: Gateway) -> None:
        seen = 0
        for who, target in demo.cases(E13):
            item = expect_ok(E13, demo.send(E13, target, who=who))["chronothermostats"][0]
            assert item["sender"]["plant"] == {"id": target["plant"], "module": {"id": target["module"]}}
            plant = demo.estate.plant(target["plant"])
            record = next(module for module in plant.every_module() if module["id"] == target["module"])
            assert item["programs"] == record.get("programs", [])
            seen += len(item["programs"])
        assert seen

    def test_the_active_program_of_e12_is_one_of_the_list(self, demo: Gateway) -> None:
        seen = 0
        for who, target in demo.cases(E12):
            thermostat = expect_ok(E12, demo.send(E12, target, who=who))["chronothermostats"][0]
            if thermostat["mode"] == "automatic":
                listed = expect_ok(E13, demo.send(E13, target, who=who))["chronothermostats"][0]["programs"]
                assert thermostat["programs"][0]["number"] in {program["number"] for program in listed}
                seen += 1
        assert seen
