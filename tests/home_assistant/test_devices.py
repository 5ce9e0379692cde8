"""The integration inside the real Home Assistant: what appears, commands, and changes at the gateway."""

from datetime import datetime
from statistics import median

import pytest

from home_assistant.conftest import Setup

pytestmark = pytest.mark.slow


class TestLights:
    def test_they_have_the_state_of_the_gateway(self, setup: Setup) -> None:
        for name in ("Ceiling lamp", "Floor lamp", "Reading lamp"):
            module, shown = setup.module(name), setup.home.state(f"light.{name.lower().replace(' ', '_')}")
            assert shown["state"] == ("on" if module["state"]["on"] else "off")
            assert shown["attributes"]["friendly_name"] == name

    @pytest.mark.parametrize(
        ("entity", "mode"), [("reading_lamp", "onoff"), ("ceiling_lamp", "brightness"), ("floor_lamp", "hs")]
    )
    def test_they_offer_only_what_the_lamp_can_do(self, setup: Setup, entity: str, mode: str) -> None:
        assert setup.home.state(f"light.{entity}")["attributes"]["supported_color_modes"] == [mode]

    def test_a_lamp_that_cannot_be_reached_is_not_available(self, setup: Setup) -> None:
        setup.home.wait_for("light.offline_lamp", "unavailable")

    def test_a_command_reaches_the_lamp(self, setup: Setup) -> None:
        setup.home.call("light.turn_on", "light.hall_lamp", brightness_pct=30)
        assert setup.module("Hall lamp")["state"] == {"of": "light", "on": True, "level": 30, "color": None}
        setup.home.call("light.turn_off", "light.hall_lamp")
        assert setup.module("Hall lamp")["state"]["on"] is False

    def test_a_colour_reaches_the_lamp(self, setup: Setup) -> None:
        setup.home.call("light.turn_on", "light.path_lights", hs_color=[120, 50])
        color = setup.module("Path lights")["state"]["color"]
        assert (color["hue"], color["saturation"]) == (120, 50)

    def test_a_switch_at_the_wall_is_shown_within_a_second_by_the_event_alone(self, setup: Setup) -> None:
        """The delay is between the confirmation at the gateway and the new state in Home Assistant, by the clocks of both."""
        delays = []
        setup.command("Mirror lamp", {"do": "set light", "on": False})
        setup.home.wait_for("light.mirror_lamp", "off")
        for state in ("on", "off") * 5:
            before = setup.count_reads()
            ended = setup.command("Mirror lamp", {"do": "set light", "on": state == "on"})["endedAt"]
            shown = setup.home.wait_for("light.mirror_lamp", state)["last_changed"]
            # Home Assistant reads the homes when it connects again with a fresh token. Such a change does not count.
            if setup.count_reads() == before:
                delays.append((datetime.fromisoformat(shown) - datetime.fromisoformat(ended)).total_seconds())
        assert len(delays) >= 5, "Home Assistant polls"
        assert median(delays) < 1

    def test_a_command_that_the_device_does_not_confirm_fails(self, setup: Setup) -> None:
        assert "Refusing plug" in setup.home.refuse("switch.turn_off", "switch.refusing_plug")


class TestSwitches:
    @pytest.mark.parametrize(("entity", "name"), [("fountain", "Fountain"), ("electric_radiator", "Electric radiator")])
    def test_a_command_reaches_a_plug_and_a_heater(self, setup: Setup, entity: str, name: str) -> None:
        for state in ("on", "off"):
            setup.home.call(f"switch.turn_{state}", f"switch.{entity}")
            assert setup.module(name)["state"]["on"] is (state == "on")
            setup.home.wait_for(f"switch.{entity}", state)

    def test_each_socket_of_a_multisocket_is_a_switch(self, setup: Setup) -> None:
        setup.home.call("switch.turn_on", "switch.media_sockets_socket_2")
        assert setup.module("Media sockets")["state"]["sockets"][1] is True
        assert setup.home.state("switch.media_sockets_socket_2")["attributes"]["friendly_name"] == "Media sockets Socket 2"
