"""Covers, thermostats, locks, cameras, relays, scenes and sensors inside the real Home Assistant."""

import pytest

from home_assistant.conftest import Setup
from support.gateway import eventually

pytestmark = pytest.mark.slow

PNG = b"\x89PNG\r\n"


class TestCovers:
    def test_a_shutter_moves_to_a_position(self, setup: Setup) -> None:
        assert setup.home.state("cover.garage_door")["attributes"]["current_position"] == 0
        setup.home.call("cover.set_cover_position", "cover.bedroom_shutter", position=5)
        eventually(lambda: setup.module("Bedroom shutter")["state"]["position"] == 5, "the shutter has moved")
        setup.home.wait_for("cover.bedroom_shutter", "open")
        setup.home.call("cover.close_cover", "cover.bedroom_shutter")
        setup.home.wait_for("cover.bedroom_shutter", "closed")


class TestThermostats:
    NAME, ENTITY = "Thermostat first floor", "climate.thermostat_first_floor"

    def test_its_programs_are_presets(self, setup: Setup) -> None:
        attributes = setup.home.state("climate.thermostat_ground_floor")["attributes"]
        assert attributes["preset_modes"] == ["none", "boost", "protection", "Comfort", "Working week", "Holidays"]
        assert attributes["hvac_modes"] == ["off", "auto", "heat", "cool"]
        assert attributes["preset_mode"] == "Working week"

    def test_it_shows_the_measured_values(self, setup: Setup) -> None:
        shown, state = setup.home.state(self.ENTITY)["attributes"], setup.module(self.NAME)["state"]
        assert shown["current_temperature"] == pytest.approx(state["temperature"]["value"], abs=1)
        assert shown["current_humidity"] == pytest.approx(state["humidity"]["value"], abs=5)

    def test_it_gets_a_set_point_a_mode_and_a_preset(self, setup: Setup) -> None:
        setup.home.call("climate.set_temperature", self.ENTITY, temperature=21.5, hvac_mode="heat")
        state = setup.module(self.NAME)["state"]
        assert (state["mode"], state["setPoint"]) == ("manual", 21.5)
        assert setup.home.wait_for(self.ENTITY, "heat")["attributes"]["temperature"] == 21.5
        setup.home.call("climate.set_preset_mode", self.ENTITY, preset_mode="Holidays")
        state = setup.module(self.NAME)["state"]
        assert (state["mode"], state["program"]) == ("automatic", 2)
        setup.home.wait_for(self.ENTITY, "auto")
        setup.home.call("climate.set_preset_mode", self.ENTITY, preset_mode="boost")
        assert setup.module(self.NAME)["state"]["mode"] == "boost"
        setup.home.call("climate.set_preset_mode", self.ENTITY, preset_mode="none")
        assert setup.module(self.NAME)["state"]["mode"] == "automatic"
        setup.home.call("climate.turn_off", self.ENTITY)
        assert setup.home.wait_for(self.ENTITY, "off")["attributes"]["temperature"] is None


class TestDoors:
    def test_a_lock_opens_and_locks_by_itself(self, setup: Setup) -> None:
        setup.home.wait_for("lock.front_door_lock", "locked")
        setup.home.call("lock.unlock", "lock.front_door_lock")
        setup.home.wait_for("lock.front_door_lock", "unlocked")
        setup.home.wait_for("lock.front_door_lock", "locked")
        assert "locks by itself" in setup.home.refuse("lock.lock", "lock.front_door_lock")

    def test_a_camera_that_is_on_has_pictures(self, setup: Setup) -> None:
        setup.home.call("camera.turn_on", "camera.door_camera")
        eventually(lambda: "access_token" in setup.home.state("camera.door_camera")["attributes"], "the camera is shown")
        eventually(lambda: setup.module("Door camera")["state"]["on"], "the camera is on")
        kind, picture = setup.home.get_bytes("/api/camera_proxy/camera.door_camera")
        assert (kind, picture[: len(PNG)]) == ("image/png", PNG)
        setup.home.call("camera.turn_off", "camera.door_camera")
        assert setup.module("Door camera")["state"]["on"] is False

    def test_a_relay_is_a_button(self, setup: Setup) -> None:
        setup.home.call("button.press", "button.gate")
        assert setup.commands_of("Gate") == ["activate"]


class TestScenes:
    def test_a_scene_of_the_gateway_runs(self, setup: Setup) -> None:
        setup.command("Fountain", {"do": "switch plug", "on": False})
        setup.home.call("scene.turn_on", "scene.casa_bianchi_water_the_garden")
        eventually(lambda: setup.module("Fountain")["state"]["on"], "the scene has run")
        setup.home.wait_for("switch.fountain", "on")


class TestSensors:
    @pytest.mark.parametrize(
        ("entity", "kind", "meaning", "unit"),
        [
            ("energy_meter_energy", "energy", "total_increasing", "Wh"),
            ("energy_meter_power", "power", "measurement", "W"),
            ("wallbox_energy", "energy", "total_increasing", "Wh"),
            ("thermostat_ground_floor_temperature", "temperature", "measurement", "°C"),
            ("thermostat_ground_floor_humidity", "humidity", "measurement", "%"),
        ],
    )
    def test_measured_values_can_be_used_by_the_energy_page_and_by_statistics(
        self, setup: Setup, entity: str, kind: str, meaning: str, unit: str
    ) -> None:
        shown = setup.home.state(f"sensor.{entity}")
        attributes = shown["attributes"]
        found = (attributes["device_class"], attributes["state_class"], attributes["unit_of_measurement"])
        assert found == (kind, meaning, unit)
        assert float(shown["state"]) > 0

    def test_batteries_and_firmware(self, setup: Setup) -> None:
        assert setup.home.state("sensor.garden_remote_battery")["state"] == "very_low"
        shown = setup.home.states()
        assert {shown[f"sensor.gateway_firmware{other}"]["state"] for other in ("", "_2")} == {"298", "304"}
        setup.home.wait_for("sensor.remote_in_the_car_battery", "unavailable")
