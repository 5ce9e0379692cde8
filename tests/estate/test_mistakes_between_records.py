"""Mistakes between records: references that do not exist, and values that must be unique."""

import pytest

from domogate.drivers import check_options
from domogate.drivers.mqtt import MqttBroker, MqttSettings
from domogate.drivers.openwebnet import OpenWebNetGateway, OpenWebNetSettings
from domogate.estate import print_estate, read_estate
from support.estate_mistakes import LAMP, OTHER, house, mistakes, module, modules, the_mistake


class TestDrivers:
    """In these files the plant names no driver."""

    def text(self, *records: str) -> str:
        return modules(*records).replace("    driver: simulator\n", "")

    def test_a_module_without_one_is_named_and_told_what_to_write(self) -> None:
        told = the_mistake(self.text(f"id: {LAMP}, name: Hall lamp, kind: light"))
        assert told.path == "plants[0].modules[0]"
        assert told.problem == "the module 'Hall lamp' has no driver"
        assert told.allowed is not None
        assert "simulator for devices that do not exist" in told.allowed

    def test_several_are_counted(self) -> None:
        told = the_mistake(self.text(f"id: {LAMP}, name: A, kind: light", f"id: {OTHER}, name: B, kind: plug"))
        assert told.problem == "the module 'A' has no driver, and 1 other modules of this plant have none either"

    def test_a_scene_needs_none(self) -> None:
        read = read_estate(self.text(f"id: {LAMP}, name: Scene, kind: scene"), "estate.yaml")
        assert not read.estate.plants[0].topology.modules[0].is_simulated

    def test_a_module_takes_that_of_its_plant_unless_it_names_one(self) -> None:
        text = modules(f"id: {LAMP}, name: A, kind: light", f"id: {OTHER}, name: B, kind: plug, driver: mqtt")
        estate = read_estate(text, "estate.yaml").estate
        assert [module.driver for module in estate.plants[0].topology.modules] == ["simulator", "mqtt"]

    def test_an_export_names_every_one(self) -> None:
        lamp = f"id: {LAMP}, name: A, kind: light, driver: simulator"
        text = self.text(lamp, f"id: {OTHER}, name: B, kind: plug, driver: mqtt")
        printed = print_estate(read_estate(text, "estate.yaml").estate)
        assert printed.count("driver: simulator") == printed.count("driver: mqtt") == 1
        assert read_estate(printed, "again").estate == read_estate(text, "estate.yaml").estate


class TestIdentity:
    def test_an_id_used_twice_anywhere_is_told_with_its_first_place(self) -> None:
        text = house(
            f"floors: [{{id: {LAMP}, name: F, ambients: [{{id: {LAMP.upper()}, name: A}}]}}]",
            f"modules: [{{id: {LAMP}, name: M, kind: light}}]",
        )
        found = mistakes(text)
        assert [told.path for told in found] == ["plants[0].floors[0].ambients[0].id", "plants[0].modules[0].id"]
        assert all(told.problem.endswith("is already used by plants[0].floors[0]") for told in found)

    def test_an_internal_id_used_twice(self) -> None:
        told = the_mistake(
            modules(
                f"id: {LAMP}, internalId: {OTHER}, name: A, kind: light",
                f"id: {OTHER}, internalId: {OTHER}, name: B, kind: light",
            )
        )
        assert told.path == "plants[0].modules[1].internalId"

    def test_an_internal_id_may_equal_an_id(self) -> None:
        assert read_estate(module(f"internalId: {LAMP}, kind: light"), "x").estate.plants

    def test_a_driver_that_is_not_there(self) -> None:
        told = the_mistake(module("kind: light, driver: simulatr"), drivers=check_options({}))
        assert (told.problem, told.allowed) == ("there is no driver 'simulatr'", "mqtt, openwebnet, simulator")
        assert told.hint == "Did you mean 'simulator'?"

    def test_options_that_a_driver_does_not_know(self) -> None:
        told = the_mistake(module("kind: light, options: {simulate: sleeping}"), drivers=check_options({}))
        assert told.path == "plants[0].modules[0].options.simulate"
        assert told.problem == "must be one of normal, offline, slow, refusing"

    @pytest.mark.parametrize("driver", ["mqtt", "openwebnet"])
    def test_a_real_module_without_a_word_on_how_to_reach_it(self, driver: str) -> None:
        found = mistakes(module(f"kind: light, driver: {driver}"), drivers=check_options({}))
        assert found
        assert {told.path for told in found} == {"plants[0].modules[0]"}

    def test_a_module_of_a_kind_that_a_driver_cannot_drive(self) -> None:
        options = "options: {where: '12'}"
        assert mistakes(module(f"kind: emergency unit, driver: openwebnet, {options}"), drivers=check_options({}))

    def test_a_unit_under_its_controller_is_a_module_like_any_other_to_its_driver(self) -> None:
        unit = f"{{id: {OTHER}, name: U, driver: openwebnet, options: {{where: '12'}}}}"
        found = mistakes(module(f"kind: emergency controller, units: [{unit}]"), drivers=check_options({}))
        assert found
        assert all(told.path.startswith("plants[0].modules[0].units[0]") for told in found)


class TestConnections:
    DRIVERS = check_options(
        {
            "mqtt": MqttSettings(brokers=tuple(MqttBroker(url=f"mqtt://{name}.lan", name=name) for name in ("house", "shed"))),
            "openwebnet": OpenWebNetSettings(gateways=(OpenWebNetGateway(host="bus.lan", name="bus"),)),
        }
    )

    def test_a_broker_that_is_not_in_the_settings(self) -> None:
        options = "options: {dialect: tasmota, topic: lamp, broker: hose}"
        told = the_mistake(module(f"kind: light, driver: mqtt, {options}"), drivers=self.DRIVERS)
        assert told.path == "plants[0].modules[0].options.broker"
        assert told.problem == "the settings have no broker 'hose'; there are house, shed"

    def test_no_broker_where_there_are_several(self) -> None:
        told = the_mistake(module("kind: light, driver: mqtt, options: {dialect: tasmota, topic: lamp}"), drivers=self.DRIVERS)
        assert told.problem == "the option broker is missing; there are house, shed"

    def test_a_bus_that_is_not_in_the_settings(self) -> None:
        told = the_mistake(
            module("kind: light, driver: openwebnet, options: {where: '12', gateway: buss}"), drivers=self.DRIVERS
        )
        assert told.path == "plants[0].modules[0].options.gateway"
        assert "bus" in told.problem

    @pytest.mark.parametrize("gateway", ["", ", gateway: bus"])
    def test_one_that_is_there_is_no_mistake(self, gateway: str) -> None:
        text = module(f"kind: light, driver: openwebnet, options: {{where: '12'{gateway}}}")
        assert read_estate(text, "x", drivers=self.DRIVERS).estate.plants

    def test_without_brokers_in_the_settings_any_name_may_be_right(self) -> None:
        text = module("kind: light, driver: mqtt, options: {dialect: tasmota, topic: lamp, broker: house}")
        assert read_estate(text, "x", drivers=check_options({})).estate.plants


class TestPlants:
    @pytest.mark.parametrize(("key", "most"), [("country", 50), ("zipCode", 20), ("address", 500)])
    def test_lengths_are_those_of_the_contract(self, key: str, most: int) -> None:
        (plant,) = read_estate(house(f"{key}: {'x' * most}"), "x").estate.plants
        attribute = "zip_code" if key == "zipCode" else key
        assert getattr(plant.plant, attribute) == "x" * most
        told = the_mistake(house(f"{key}: {'x' * (most + 1)}"))
        assert (told.path, told.allowed) == (f"plants[0].{key}", f"at most {most} characters")

    def test_a_time_zone_is_a_name_of_the_iana_database(self) -> None:
        (plant,) = read_estate(house("timeZone: Europe/Rome"), "x").estate.plants
        assert plant.plant.time_zone == "Europe/Rome"
        for wrong in ("Europe/Atlantis", "CET+1", "../Rome"):
            told = the_mistake(house(f"timeZone: {wrong}"))
            assert (told.path, told.allowed) == ("plants[0].timeZone", "a name such as 'Europe/Rome'")

    def test_a_name_of_more_than_50_characters(self) -> None:
        assert the_mistake(house().replace("Casa", "x" * 51)).allowed == "at most 50 characters"

    def test_a_date_of_removal_of_a_plant_that_is_not_removed(self) -> None:
        told = the_mistake(house("removedAt: 2026-11-15"))
        assert (told.line, told.column, told.path) == (9, 5, "plants[0].removedAt")

    def test_letters_in_a_postal_code_and_an_apostrophe_in_a_name_are_fine(self) -> None:
        plant = read_estate(house("zipCode: SW1A 1AA").replace("Casa", "Anna's house"), "x").estate.plants[0].plant
        assert (plant.name, plant.zip_code) == ("Anna's house", "SW1A 1AA")
