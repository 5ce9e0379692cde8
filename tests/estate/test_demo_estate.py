"""The demo estate is correct, and has examples of everything."""

from collections.abc import Iterator
from typing import TypeVar
from uuid import UUID

import pytest

from domogate.domain import commands, states
from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant
from domogate.domain.people import GrantType, Scope, Standing
from domogate.domain.plants import ControllerDetail, Module, PlantStatus, PlantType, SceneDetail
from domogate.domain.safety import FailureType, SparePartType, in_failure
from domogate.domain.states import Battery, ThermostatFunction, ThermostatMode, Unit
from domogate.drivers import check_options
from domogate.estate import EstateFile, demo_text, read_estate

S = TypeVar("S")


@pytest.fixture(scope="module")
def file() -> EstateFile:
    return read_estate(demo_text(), "demo.yaml", drivers=check_options({}))


@pytest.fixture(scope="module")
def demo(file: EstateFile) -> Estate:
    return file.estate


def every_module(estate: Estate) -> Iterator[tuple[EstatePlant, Module]]:
    for plant in estate.plants:
        for module in plant.topology.every_module():
            yield plant, module


def all_states(estate: Estate, kind: type[S]) -> list[S]:
    return [told.state for plant in estate.plants for told in plant.states if isinstance(told.state, kind)]


def with_trouble(estate: Estate, trouble: str) -> set[DeviceKind]:
    return {module.kind for _, module in every_module(estate) if module.options.get("simulate") == trouble}


class TestPeople:
    def test_every_standing_occurs(self, demo: Estate) -> None:
        assert {user.standing for user in demo.users} == set(Standing)

    def test_there_is_an_owner_a_guest_an_invited_one_and_one_with_nothing(self, demo: Estate, file: EstateFile) -> None:
        owners = {plant.plant.owner.email for plant in demo.plants}
        allowed = {member.email for plant in demo.plants for member in plant.plant.allowed}
        invited = {invitation.email for plant in demo.plants for invitation in plant.plant.invited}
        everyone = {user.email for user in demo.users}
        assert {"anna@example.com", "dario@example.com", "elena@example.com"} == owners
        assert "bruno@example.com" in allowed
        assert everyone - owners - allowed - invited == {"fabio@example.com", "lucia@example.com"}
        assert [user.email for user in demo.users if user.operator] == ["lucia@example.com"]
        inactive = {user.email for user in demo.users if user.id not in file.passwords}
        assert inactive == {"carla@example.com"}
        assert inactive <= invited

    def test_those_with_something_to_renew_have_a_plant_to_be_refused_at(self, demo: Estate) -> None:
        due = {user.id for user in demo.users if user.standing is not Standing.GOOD}
        assert due
        assert all(any(plant.plant.is_of(user) for plant in demo.plants) for user in due)

    def test_the_first_subscription_is_unlimited_and_another_runs_out_soon(self, demo: Estate, file: EstateFile) -> None:
        first, second, third = demo.subscriptions
        assert (first.rate, first.daily_quota, first.expires_at) == (None, None, None)
        assert second.rate is not None
        assert second.daily_quota is not None
        assert third.expires_at is not None
        assert file.keys[first.id] == "demo-subscription-key-0001"

    def test_one_client_is_strict_and_one_is_not_and_both_live_on_loopback(self, demo: Estate, file: EstateFile) -> None:
        clients = {client.id: client for client in demo.clients}
        assert not clients["demo-app"].access_token_everywhere
        assert set(clients["demo-app"].scopes) >= set(Scope)
        assert set(clients["demo-app"].grants) == set(GrantType)
        assert clients["demo-classic"].access_token_everywhere
        assert clients["demo-classic"].pkce_exempt
        assert not clients["demo-page"].confidential
        assert clients["demo-page"].origins
        assert set(file.secrets) == {"demo-app", "demo-classic"}
        for client in demo.clients:
            assert client.redirect_uris
            assert all(uri.startswith(("http://127.0.0.1:", "http://localhost:")) for uri in client.redirect_uris)


class TestPlants:
    def test_every_type_and_status_occurs(self, demo: Estate) -> None:
        assert {plant.plant.type for plant in demo.plants} == set(PlantType)
        assert {plant.plant.status for plant in demo.plants} == set(PlantStatus)

    def test_every_kind_occurs_in_every_place(self, demo: Estate) -> None:
        assert {module.kind for _, module in every_module(demo)} == set(DeviceKind)
        house = demo.plants[0].topology
        assert all(floor.ambients for floor in house.floors)
        assert any(ambient.modules for ambient in house.ambients)
        assert any(not ambient.modules for ambient in house.every_ambient())
        assert house.modules

    def test_the_hotel_has_hundreds_of_modules(self, demo: Estate) -> None:
        hotel = next(plant for plant in demo.plants if plant.plant.type is PlantType.HOTEL)
        assert len(list(hotel.topology.every_module())) > 250

    def test_ids_are_lower_case_and_of_version_4(self, demo: Estate) -> None:
        ids = [plant.plant.id for plant in demo.plants] + [module.id for _, module in every_module(demo)]
        assert all(UUID(identity).version == 4 and str(UUID(identity)) == identity for identity in ids)

    def test_one_plant_has_a_name_and_a_postal_code_that_a_narrow_family_cannot_print(self, demo: Estate) -> None:
        assert any("'" in plant.plant.name and not (plant.plant.zip_code or "0").isdigit() for plant in demo.plants)


class TestStates:
    def test_lights_are_on_and_off_with_and_without_level_and_colour(self, demo: Estate) -> None:
        lights = all_states(demo, states.LightState)
        assert {light.on for light in lights} == {True, False}
        assert {light.level is None for light in lights} == {True, False}
        assert {light.color is None for light in lights} == {True, False}

    def test_thermostats_are_in_every_mode_function_scale_and_load(self, demo: Estate) -> None:
        thermostats = all_states(demo, states.ThermostatState)
        assert {told.mode for told in thermostats} == set(ThermostatMode)
        assert {told.function for told in thermostats} == set(ThermostatFunction)
        assert {told.scale for told in thermostats} == {Unit.CELSIUS, Unit.FAHRENHEIT}
        assert {told.temperature.unit for told in thermostats if told.temperature} == {Unit.CELSIUS, Unit.FAHRENHEIT}
        assert {told.load_active for told in thermostats} == {True, False}
        assert any(told.activation_time for told in thermostats)

    def test_remotes_have_every_battery_level(self, demo: Estate) -> None:
        assert {told.battery for told in all_states(demo, states.RemoteState)} == set(Battery)

    def test_plugs_and_sockets_are_on_and_off(self, demo: Estate) -> None:
        assert {told.on for told in all_states(demo, states.PlugState)} == {True, False}
        assert all(len(told.sockets) > 1 for told in all_states(demo, states.MultisocketState))
        assert {on for told in all_states(demo, states.MultisocketState) for on in told.sockets} == {True, False}

    def test_some_devices_are_offline_slow_or_refusing(self, demo: Estate) -> None:
        assert with_trouble(demo, "offline") >= {
            DeviceKind.CHRONOTHERMOSTAT,
            DeviceKind.REMOTE,
            DeviceKind.PLUG,
            DeviceKind.LIGHT,
        }
        assert with_trouble(demo, "slow") >= {DeviceKind.CHRONOTHERMOSTAT, DeviceKind.LOCK, DeviceKind.AUDIOVIDEO_UNIT}
        assert with_trouble(demo, "refusing") >= {DeviceKind.PLUG, DeviceKind.CHRONOTHERMOSTAT}

    def test_what_is_offline_is_so_from_the_start(self, demo: Estate) -> None:
        unreachable = {told.module_id for plant in demo.plants for told in plant.states if not told.reachable}
        offline = {module.id for _, module in every_module(demo) if module.options.get("simulate") == "offline"}
        assert unreachable == offline


class TestScenes:
    def test_every_command_is_used(self, demo: Estate) -> None:
        details = [module.detail for _, module in every_module(demo)]
        used = {type(step.command) for detail in details if isinstance(detail, SceneDetail) for step in detail.steps}
        assert used == set(commands.Command.__args__)

    def test_one_switches_off_the_whole_house(self, demo: Estate) -> None:
        house = demo.plants[0].topology
        scene = next(module for module in house.modules if module.name == "Leave the house")
        assert isinstance(scene.detail, SceneDetail)
        off = {step.module_id for step in scene.detail.steps}
        to_be_off = {DeviceKind.LIGHT, DeviceKind.PLUG, DeviceKind.HEATER, DeviceKind.MULTISOCKET}
        assert {module.id for module in house.every_module() if module.kind in to_be_off} <= off


class TestEmergencyLighting:
    def test_all_failure_types_occur(self, demo: Estate) -> None:
        told = {failure.type for state in all_states(demo, states.EmergencyState) for failure in state.failures}
        assert told == set(FailureType)

    def test_controllers_are_in_alert_and_not_in_alert(self, demo: Estate) -> None:
        hospital = next(plant for plant in demo.plants if plant.plant.name == "Ospedale San Luca")
        failures = {
            told.module_id: told.state.failures for told in hospital.states if isinstance(told.state, states.EmergencyState)
        }
        modules = list(hospital.topology.every_module())
        alerts = {
            controller.name: sum(in_failure(failures[unit.id]) for unit in modules if unit.controller_id == controller.id)
            >= controller.detail.alert_level
            for controller in modules
            if isinstance(controller.detail, ControllerDetail)
        }
        assert set(alerts.values()) == {True, False}
        assert alerts["Controller east wing"]
        assert not alerts["Controller west wing"]

    def test_one_site_has_no_modules(self, demo: Estate) -> None:
        assert any(plant.plant.emergency_lighting and not list(plant.topology.every_module()) for plant in demo.plants)

    def test_the_catalogue_has_every_type_and_a_reference_without_parts(self, demo: Estate) -> None:
        assert {part.type for entry in demo.spare_parts for part in entry.parts} == set(SparePartType)
        assert any(not entry.parts for entry in demo.spare_parts)
