"""What each component of Home Assistant becomes, and how templates are translated."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domogate.domain.commands import Activate, Command, MoveShutter, OpenLock, SetLight, SetThermostat, SwitchPlug
from domogate.domain.devices import DeviceKind as Kind
from domogate.domain.states import Color, ThermostatMode
from domogate.drivers.mqtt.discovery import find_modules
from domogate.drivers.mqtt.home_assistant.templates import (
    Untranslatable,
    ValueTemplate,
    read_command_template,
    read_value_template,
)
from domogate.drivers.mqtt.properties import Unsupported
from support.mqtt_dialects import make_codec, messages_of
from support.mqtt_home_assistant import CLIMATE, COVER, DEVICE, LIGHT, SWITCH, announced, codec_of, found_in


class TestTemplates:
    @pytest.mark.parametrize(
        ("template", "path", "scale"),
        [
            ("", "", 1),
            ("{{ value }}", "", 1),
            ("{{value|float}}", "", 1),
            ("{{ value_json.power }}", "power", 1),
            ("{{ value_json['a b'].c[0][\"d\"] }}", "a b.c[0].d", 1),
            ("{{ value_json[1].x | float(0) | round(1) }}", "[1].x", 1),
            ("{{- value_json.x | default(none) -}}", "x", 1),
            ("{{ value_json.x | int * 100 }}", "x", 100),
            ("{{ value_json.x / 4 | round(1) }}", "x", 0.25),
        ],
    )
    def test_a_path_and_a_factor_are_translated(self, template: str, path: str, scale: float) -> None:
        assert read_value_template(template) == ValueTemplate(path, scale)

    @pytest.mark.parametrize(
        "template",
        [
            "{{ 'ON' if value_json.on else 'OFF' }}",
            "{% if value %}1{% endif %}",
            "{{ value_json.get('x') }}",
            "{{ states('light.kitchen') }}",
            "{{ value_json.x * 0 }}",
            "{{ value }} and {{ value }}",
            "{{ value_json" + ".x" * 400 + " }}",
            "ON",
        ],
    )
    def test_everything_else_is_refused(self, template: str) -> None:
        with pytest.raises(Untranslatable):
            read_value_template(template)

    def test_a_payload_of_a_command(self) -> None:
        command = read_command_template('{"brightness": {{ value | int }}}')
        assert (command.payload, command.scale) == ('{"brightness": {value}}', 1)
        for template in ("{{ position }}", "{% if value %}{{ value }}{% endif %}", "nothing"):
            with pytest.raises(Untranslatable, match="cannot be translated"):
                read_command_template(template)

    @given(st.text(alphabet="{}|%value_json.[]'\"( )*/0x", max_size=60))
    def test_any_text_is_translated_or_refused(self, template: str) -> None:
        for read in (read_value_template, read_command_template):
            with suppress(Untranslatable):
                assert read(template).scale > 0


class TestComponents:
    def test_a_switch_is_a_plug_with_the_name_of_its_device(self) -> None:
        found = found_in(announced("switch", SWITCH))
        assert (found.name, found.kind, found.about) == ("Kitchen", Kind.PLUG, "Bla xyz")
        codec = make_codec(found.kind, **found.options)
        assert codec.decode("home/switch/state", b"ON") == {"on": True}
        assert messages_of(codec, Kind.PLUG, SwitchPlug(on=False)) == [("home/switch/set", "OFF")]

    def test_a_switch_with_its_own_words_in_json(self) -> None:
        own = {"val_tpl": "{{ value_json.relay }}", "stat_on": True, "stat_off": False, "pl_on": "1", "pl_off": "0"}
        codec = codec_of("switch", SWITCH | own)
        assert codec.decode("home/switch/state", b'{"relay": true}') == {"on": True}
        assert messages_of(codec, Kind.PLUG, SwitchPlug(on=True)) == [("home/switch/set", "1")]

    def test_sensors_of_power_and_energy_belong_to_the_plug_of_their_device(self) -> None:
        sensor = {"stat_t": "home/meter", "dev": DEVICE}
        received = announced("switch", SWITCH)
        received |= announced("sensor", {**sensor, "unit_of_meas": "kW", "val_tpl": "{{ value_json.p }}", "uniq_id": "p"}, "p")
        received |= announced("sensor", {**sensor, "unit_of_meas": "Wh", "val_tpl": "{{ value_json.e }}", "uniq_id": "e"}, "e")
        received |= announced("sensor", {**sensor, "unit_of_meas": "dBm", "dev_cla": "signal_strength", "uniq_id": "r"}, "r")
        found = found_in(received)
        assert make_codec(found.kind, **found.options).decode("home/meter", b'{"p": "0.2", "e": 7}') == {
            "power": 200.0,
            "energy": 7.0,
        }
        for topic in [topic for topic in received if "/switch/" in topic]:
            del received[topic]
        meter = found_in(received)
        assert (meter.kind, meter.name, set(meter.options["state"])) == (Kind.ENERGYMETER, "Kitchen", {"power", "energy"})

    def test_several_sensors_of_power_are_several_meters(self) -> None:
        phases = [{"name": f"L{number}", "stat_t": f"m/{number}", "unit_of_meas": "W", "dev": DEVICE} for number in (1, 2, 3)]
        received = {f"homeassistant/sensor/m/{number}/config": json.dumps(one).encode() for number, one in enumerate(phases)}
        found, _ = find_modules(received)
        assert [(one.name, one.kind) for one in found] == [(f"Kitchen L{number}", Kind.ENERGYMETER) for number in (1, 2, 3)]

    def test_a_light_with_topics_for_levels_and_colors(self) -> None:
        levels = {"brightness_command_topic": "l/dim/set", "brightness_state_topic": "l/dim", "brightness_scale": 200}
        codec = codec_of("light", LIGHT | levels | {"hs_command_topic": "l/hs/set", "hs_state_topic": "l/hs"})
        assert codec.decode("l", b"OFF") == {"on": False}
        assert codec.decode("l/dim", b"100") == {"level": 50}
        assert codec.decode("l/hs", b"120.5,40") == {"hue": 120.5, "saturation": 40}
        assert codec.decode("l/hs", b"400,40") == codec.decode("l/hs", b"1") == {}
        spoken = messages_of(codec, Kind.LIGHT, SetLight(on=True, color=Color(30, 60, 80)))
        assert sorted(spoken) == [("l/dim/set", "160"), ("l/hs/set", "30,60"), ("l/set", "ON")]

    def test_a_light_with_json(self) -> None:
        codec = codec_of("light", LIGHT | {"schema": "json", "brightness": True, "supported_color_modes": ["hs"]})
        said = b'{"state": "ON", "brightness": 51, "color": {"h": 7, "s": 9}}'
        assert codec.decode("l", said) == {"on": True, "level": 20, "hue": 7, "saturation": 9}
        assert messages_of(codec, Kind.LIGHT, SetLight(on=True, level=40)) == [
            ("l/set", {"state": "ON"}),
            ("l/set", {"state": "ON", "brightness": 102}),
        ]
        assert ("l/set", {"state": "ON", "color": {"h": 30, "s": 60}}) in messages_of(
            codec, Kind.LIGHT, SetLight(color=Color(30, 60, 80))
        )

    @pytest.mark.parametrize(
        ("more", "metrics"),
        [
            ({}, ["status"]),
            ({"brightness_command_topic": "d", "brightness_state_topic": "d"}, ["status", "level"]),
            ({"brightness_command_topic": "d"}, ["status"]),
            ({"schema": "json", "supported_color_modes": ["onoff"]}, ["status"]),
            ({"schema": "json", "supported_color_modes": ["rgb"]}, ["status", "level"]),
        ],
    )
    def test_a_light_shows_only_what_it_can_do(self, more: dict[str, Any], metrics: list[str]) -> None:
        found = found_in(announced("light", LIGHT | more))
        assert [one["label"] for one in found.hardware["metrics"]] == metrics

    @pytest.mark.parametrize(
        ("more", "payload", "command", "spoken"),
        [
            ({"set_position_topic": "c/pos/set"}, b"30", MoveShutter(30), ("c/pos/set", "30")),
            (
                {"set_position_topic": "c/pos/set", "position_open": 0, "position_closed": 50},
                b"35",
                MoveShutter(90),
                ("c/pos/set", "5"),
            ),
            ({}, b"30", MoveShutter(100), ("c/set", "OPEN")),
        ],
    )
    def test_a_cover(self, more: dict[str, Any], payload: bytes, command: Command, spoken: tuple[str, str]) -> None:
        codec = codec_of("cover", COVER | more)
        assert codec.decode("c/pos", payload) == {"position": 30}
        assert messages_of(codec, Kind.AUTOMATION, command) == [spoken]

    def test_a_cover_without_positions_is_opened_or_closed_only(self) -> None:
        with pytest.raises(Unsupported, match="no word for 40"):
            messages_of(codec_of("cover", COVER), Kind.AUTOMATION, MoveShutter(40))

    def test_a_lock(self) -> None:
        codec = codec_of("lock", {"command_topic": "d/set", "state_topic": "d", "payload_unlock": "open"})
        assert codec.decode("d", b"LOCKED") == {"locked": True}
        assert codec.decode("d", b"JAMMED") == {}
        assert messages_of(codec, Kind.LOCK, OpenLock()) == [("d/set", "open")]

    def test_a_thermostat(self) -> None:
        codec = codec_of("climate", CLIMATE)
        assert codec.decode("t", b'{"target": 21, "is": 19.5, "mode": "heat", "action": "heating"}') == {
            "set_point": 21.0,
            "temperature": 19.5,
            "mode": ThermostatMode.MANUAL,
            "load_active": True,
        }
        wanted = SetThermostat(set_point=22.5, mode=ThermostatMode.AUTOMATIC)
        assert messages_of(codec, Kind.CHRONOTHERMOSTAT, wanted) == [("t/set", "22.5"), ("t/mode/set", "auto")]

    def test_a_thermostat_in_fahrenheit(self) -> None:
        codec = codec_of("climate", CLIMATE | {"temp_unit": "F"})
        assert codec.decode("t", b'{"target": 68}')["set_point"] == pytest.approx(20)
        assert messages_of(codec, Kind.CHRONOTHERMOSTAT, SetThermostat(set_point=20)) == [("t/set", "68")]

    @pytest.mark.parametrize(("component", "payload"), [("button", "PRESS"), ("scene", "ON")])
    def test_a_button_or_a_scene_is_an_activation(self, component: str, payload: str) -> None:
        codec = codec_of(component, {"command_topic": "b/set", "name": "Bell"})
        assert messages_of(codec, Kind.ACTIVATION, Activate()) == [("b/set", payload)]
        assert codec.confirmed_by_broker
