"""The module that is made from each component of Home Assistant. `test_mqtt_home_assistant_lights.py` has the lights."""

import json
from typing import Any

import pytest

from domogate.domain.commands import Activate, Command, MoveShutter, OpenLock, SetThermostat, SwitchPlug
from domogate.domain.devices import DeviceKind as Kind
from domogate.domain.states import Battery, ThermostatFunction, ThermostatMode
from domogate.drivers.mqtt.discovery import find_modules
from domogate.drivers.mqtt.kinds import unconfirmed
from domogate.drivers.mqtt.properties import Properties, Unsupported
from support.mqtt_dialects import make_codec, messages_of
from support.mqtt_home_assistant import CLIMATE, COVER, DEVICE, SWITCH, announced, codec_of, found_in


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

    @pytest.mark.parametrize(("closed", "opened"), [(0, 255), (255, 0), (0, 11), (3, 50)])
    def test_a_cover_reaches_its_ends(self, closed: int, opened: int) -> None:
        # 255 * (1 / 2.55) is 100.00000000000001.
        codec = codec_of("cover", COVER | {"position_open": opened, "position_closed": closed})
        assert codec.decode("c/pos", str(opened).encode()) == {"position": 100}
        assert codec.decode("c/pos", str(closed).encode()) == {"position": 0}

    def test_a_cover_without_positions_is_opened_or_closed_only(self) -> None:
        with pytest.raises(Unsupported, match="no word for 40"):
            messages_of(codec_of("cover", COVER), Kind.AUTOMATION, MoveShutter(40))

    def test_a_cover_that_says_only_whether_it_is_open(self) -> None:
        codec = codec_of("cover", {"cmd_t": "c/set", "stat_t": "c", "pl_cls": "DOWN", "stat_clsd": "shut"})
        assert codec.decode("c", b"open") == {"position": 100}
        assert codec.decode("c", b"shut") == {"position": 0}
        assert codec.decode("c", b"closing") == {"target": 0}
        assert codec.decode("c", b"stopped") == {}
        assert messages_of(codec, Kind.AUTOMATION, MoveShutter(0)) == [("c/set", "DOWN")]

    def test_a_cover_that_reports_nothing_is_confirmed_by_the_broker(self) -> None:
        codec = codec_of("cover", {"cmd_t": "c/set"})
        assert codec.confirmed_by_broker
        assert messages_of(codec, Kind.AUTOMATION, MoveShutter(100)) == [("c/set", "OPEN")]

    def test_a_template_of_a_cover_may_name_its_position(self) -> None:
        own = {"set_pos_t": "c/pos/set", "set_pos_tpl": '{"to": {{ position | int }}}'}
        assert messages_of(codec_of("cover", COVER | own), Kind.AUTOMATION, MoveShutter(30)) == [("c/pos/set", {"to": 30})]

    @pytest.mark.parametrize(
        ("own", "said", "position", "sent"),
        [
            ({}, b"closed", 0, "OPEN"),
            ({"reports_position": True, "pos_clsd": 10, "pos_open": 60}, b"35", 50, "60"),
            ({"pos": True}, b"35", 35, "100"),
        ],
    )
    def test_a_valve_is_an_automation(self, own: dict[str, Any], said: bytes, position: int, sent: str) -> None:
        found = found_in(announced("valve", {"cmd_t": "v/set", "stat_t": "v", "name": "Water"} | own))
        assert (found.kind, found.hardware["deviceType"]) == (Kind.AUTOMATION, "Valve")
        codec = make_codec(found.kind, **found.options)
        assert codec.decode("v", said) == {"position": position}
        assert messages_of(codec, Kind.AUTOMATION, MoveShutter(100)) == [("v/set", sent)]

    @pytest.mark.parametrize("component", ["fan", "humidifier"])
    def test_a_fan_or_a_humidifier_is_switched_as_a_plug(self, component: str) -> None:
        own = {"cmd_t": "f/set", "stat_t": "f", "stat_val_tpl": "{{ value_json.on }}", "pct_cmd_t": "f/speed", "stat_on": True}
        found = found_in(announced(component, {**own, "stat_off": False, "name": "Bath"}))
        assert (found.kind, found.hardware["deviceType"].lower()) == (Kind.PLUG, component)
        codec = make_codec(found.kind, **found.options)
        assert codec.decode("f", b'{"on": true}') == {"on": True}
        assert messages_of(codec, Kind.PLUG, SwitchPlug(on=False)) == [("f/set", "OFF")]

    def test_a_switch_whose_templates_choose_between_words(self) -> None:
        own = {"val_tpl": "{{ 'ON' if value_json.s == 'open' else 'OFF' }}"}
        own["cmd_tpl"] = "{% if value == 'ON' %}1{% else %}0{% endif %}"
        codec = codec_of("switch", SWITCH | own)
        said = [codec.decode("home/switch/state", payload) for payload in (b'{"s": "open"}', b'{"s": "x"}', b'{"t": 1}')]
        assert said == [{"on": True}, {"on": False}, {}]
        assert messages_of(codec, Kind.PLUG, SwitchPlug(on=True)) == [("home/switch/set", "1")]
        assert messages_of(codec, Kind.PLUG, SwitchPlug(on=False)) == [("home/switch/set", "0")]

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

    def test_a_thermostat_that_heats_and_cools(self) -> None:
        codec = codec_of("climate", CLIMATE | {"modes": ["off", "heat", "cool", "auto", "dry"]})
        heard = [codec.decode("t", json.dumps({"mode": mode}).encode()) for mode in ("cool", "heat", "off", "dry")]
        manual = {"mode": ThermostatMode.MANUAL}
        assert heard == [
            manual | {"function": ThermostatFunction.COOLING},
            manual | {"function": ThermostatFunction.HEATING},
            {"mode": ThermostatMode.OFF},
            {},
        ]
        sent = [
            (SetThermostat(mode=ThermostatMode.MANUAL, function=ThermostatFunction.COOLING), "cool"),
            (SetThermostat(function=ThermostatFunction.COOLING), "cool"),
            (SetThermostat(mode=ThermostatMode.MANUAL), "heat"),
            (SetThermostat(mode=ThermostatMode.OFF, function=ThermostatFunction.COOLING), "off"),
            (SetThermostat(mode=ThermostatMode.AUTOMATIC, function=ThermostatFunction.HEATING), "auto"),
        ]
        for command, word in sent:
            assert messages_of(codec, Kind.CHRONOTHERMOSTAT, command) == [("t/mode/set", word)]
        with pytest.raises(Unsupported, match="no word for boost"):
            messages_of(codec, Kind.CHRONOTHERMOSTAT, SetThermostat(mode=ThermostatMode.BOOST))

    def test_a_thermostat_that_only_cools(self) -> None:
        codec = codec_of("climate", CLIMATE | {"modes": ["off", "cool"]})
        assert codec.decode("t", b'{"mode": "off"}') == {
            "mode": ThermostatMode.OFF,
            "function": ThermostatFunction.COOLING,
        }
        assert messages_of(codec, Kind.CHRONOTHERMOSTAT, SetThermostat(mode=ThermostatMode.MANUAL)) == [("t/mode/set", "cool")]
        with pytest.raises(Unsupported, match="no word for manual heating"):
            messages_of(codec, Kind.CHRONOTHERMOSTAT, SetThermostat(function=ThermostatFunction.HEATING))

    def test_an_order_to_switch_off_is_confirmed_without_the_function(self) -> None:
        wanted = Properties(mode=ThermostatMode.OFF, function=ThermostatFunction.COOLING)
        assert unconfirmed(wanted, Properties(mode=ThermostatMode.OFF)) == {}
        assert unconfirmed(wanted, Properties(mode=ThermostatMode.MANUAL)) == wanted
        manual = Properties(mode=ThermostatMode.MANUAL, function=ThermostatFunction.COOLING)
        assert unconfirmed(manual, Properties(mode=ThermostatMode.MANUAL)) == {"function": ThermostatFunction.COOLING}

    def test_sensors_of_the_same_device_belong_to_its_thermostat(self) -> None:
        without = {name: value for name, value in CLIMATE.items() if not name.startswith("curr_temp")}
        sensor = {"dev": DEVICE, "stat_t": "s", "ent_cat": None}
        received = announced("climate", {**without, "dev": DEVICE})
        temperature = {"dev_cla": "temperature", "unit_of_meas": "°F", "val_tpl": "{{ value_json.t }}"}
        received |= announced("sensor", sensor | temperature, "t")
        humidity = {"dev_cla": "humidity", "unit_of_meas": "%", "val_tpl": "{{ value_json.h }}"}
        received |= announced("sensor", sensor | humidity, "h")
        found = found_in(received)
        heard = make_codec(found.kind, **found.options).decode("s", b'{"t": 68, "h": 40}')
        assert heard == {"temperature": pytest.approx(20), "humidity": 40}

    def test_buttons_with_a_battery_are_a_remote(self) -> None:
        battery = {"dev": DEVICE, "stat_t": "r", "dev_cla": "battery", "ent_cat": "diagnostic", "val_tpl": "{{ value_json.b }}"}
        received = announced("sensor", battery) | announced(
            "device_automation", {"dev": DEVICE, "atype": "trigger", "t": "r/a"}
        )
        found = found_in(received)
        assert (found.kind, found.name) == (Kind.REMOTE, "Kitchen")
        assert make_codec(found.kind, **found.options).decode("r", b'{"b": 95}') == {"battery": Battery.FULL}

    @pytest.mark.parametrize(("component", "payload"), [("button", "PRESS"), ("scene", "ON")])
    def test_a_button_or_a_scene_is_an_activation(self, component: str, payload: str) -> None:
        codec = codec_of(component, {"command_topic": "b/set", "name": "Bell"})
        assert messages_of(codec, Kind.ACTIVATION, Activate()) == [("b/set", payload)]
        assert codec.confirmed_by_broker
