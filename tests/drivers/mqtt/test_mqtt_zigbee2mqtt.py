"""The Zigbee2MQTT dialect: decoding of real payloads, encoding of commands."""

import json
from typing import Any

import pytest

from domogate.domain.commands import Activate, Command, MoveShutter, OpenLock, SetLight, SetThermostat, SwitchPlug, SwitchSocket
from domogate.domain.devices import DeviceKind as Kind
from domogate.domain.faults import DeviceRefused
from domogate.domain.states import Battery, Color, ThermostatFunction, ThermostatMode
from domogate.drivers.mqtt.properties import Unsupported
from support.mqtt_dialects import messages_of, zigbee_codec


class TestZigbee2Mqtt:
    # From its page "MQTT Topics and Messages", and the section "Exposes" of the pages of devices.
    @pytest.mark.parametrize(
        ("kind", "payload", "properties"),
        [
            (Kind.LIGHT, {"state": "ON", "brightness": 215, "color_temp": 325}, {"on": True, "level": 85}),
            (Kind.LIGHT, {"state": "OFF", "brightness": 254}, {"on": False, "level": 100}),
            (
                Kind.LIGHT,
                {
                    "state": "ON",
                    "brightness": 127,
                    "color_mode": "hs",
                    "color": {"hue": 23.5, "saturation": 80, "x": 0.5, "y": 0.4},
                },
                {"on": True, "level": 50, "hue": 23.5, "saturation": 80.0},
            ),
            (
                Kind.LIGHT,
                {"state": "ON", "color_mode": "color_temp", "color": {"x": 0.46, "y": 0.41}, "color_temp": 370},
                {"on": True, "hue": None, "saturation": None},
            ),
            (
                Kind.PLUG,
                {"state": "ON", "power": 12.3, "energy": 1.27, "voltage": 230},
                {"on": True, "power": 12.3, "energy": 1270.0},
            ),
            (Kind.AUTOMATION, {"state": "OPEN", "position": 63, "moving": "STOP"}, {"position": 63}),
            (Kind.REMOTE, {"action": "single", "battery": 87, "linkquality": 90}, {"battery": Battery.HIGH}),
            (Kind.LOCK, {"state": "UNLOCK", "lock_state": "locked"}, {"locked": True}),
            (Kind.LOCK, {"state": "UNLOCK"}, {"locked": False}),
            (Kind.ACTIVATION, {"state": "ON"}, {"active": True}),
            (Kind.ENERGYMETER, {"power": 512, "energy": 3.5}, {"power": 512.0, "energy": 3500.0}),
            (
                Kind.CHRONOTHERMOSTAT,
                {
                    "local_temperature": 20.5,
                    "occupied_heating_setpoint": 21,
                    "system_mode": "heat",
                    "running_state": "idle",
                    "battery": 55,
                },
                {
                    "set_point": 21.0,
                    "temperature": 20.5,
                    "mode": ThermostatMode.MANUAL,
                    "function": ThermostatFunction.HEATING,
                    "load_active": False,
                    "battery": Battery.MEDIUM,
                },
            ),
            (
                Kind.CHRONOTHERMOSTAT,
                {"system_mode": "off", "pi_heating_demand": 40},
                {"mode": ThermostatMode.OFF, "load_active": True},
            ),
        ],
    )
    def test_a_state_is_read(self, kind: Kind, payload: dict[str, Any], properties: dict[str, Any]) -> None:
        assert zigbee_codec(kind).decode("zigbee2mqtt/it", json.dumps(payload).encode()) == properties

    def test_chromaticity_becomes_hue_and_saturation(self) -> None:
        for x, y, hue in ((0.64, 0.33, 0), (0.30, 0.60, 120), (0.15, 0.06, 240)):  # the limits of sRGB
            properties = zigbee_codec(Kind.LIGHT).decode("zigbee2mqtt/it", json.dumps({"color": {"x": x, "y": y}}).encode())
            assert properties["hue"] == pytest.approx(hue, abs=2)
            assert properties["saturation"] == pytest.approx(100, abs=2)
        white = zigbee_codec(Kind.LIGHT).decode("zigbee2mqtt/it", b'{"color": {"x": 0.3127, "y": 0.329}}')
        assert white["saturation"] == pytest.approx(0, abs=2)

    def test_a_thermostat_may_call_its_set_point_otherwise(self) -> None:
        codec = zigbee_codec(Kind.CHRONOTHERMOSTAT, setPoint="current_heating_setpoint")
        assert codec.decode("zigbee2mqtt/it", b'{"current_heating_setpoint": 19.5}') == {"set_point": 19.5}
        assert messages_of(codec, Kind.CHRONOTHERMOSTAT, SetThermostat(set_point=22))[0][1] == {"current_heating_setpoint": 22}

    def test_endpoints_are_told_apart(self) -> None:
        payload = b'{"state_l1": "ON", "state_l2": "OFF", "state_l3": "ON", "brightness_l2": 254}'
        sockets = zigbee_codec(Kind.MULTISOCKET, endpoints=["l1", "l2"])
        assert sockets.decode("zigbee2mqtt/it", payload) == {"sockets": {0: True, 1: False}}
        assert messages_of(sockets, Kind.MULTISOCKET, SwitchSocket(socket=1, on=True)) == [
            ("zigbee2mqtt/it/set", {"state_l2": "ON"})
        ]
        assert [json.loads(it.payload) for it in sockets.encode_read()] == [{"state_l1": "", "state_l2": ""}]
        with pytest.raises(Unsupported, match="no socket 2"):
            messages_of(sockets, Kind.MULTISOCKET, SwitchSocket(socket=2, on=True))
        assert zigbee_codec(Kind.LIGHT, endpoint="l2").decode("zigbee2mqtt/it", payload) == {"on": False, "level": 100}

    @pytest.mark.parametrize("payload", [b"online", b'{"state":"online"}', b'{"state": "online"}'])
    @pytest.mark.parametrize("topic", ["zigbee2mqtt/it/availability", "zigbee2mqtt/bridge/state"])
    def test_availability_is_read_in_both_ways(self, topic: str, payload: bytes) -> None:
        assert zigbee_codec(Kind.LIGHT).decode(topic, payload) == {"available": True}
        assert zigbee_codec(Kind.LIGHT).decode(topic, payload.replace(b"online", b"offline")) == {"available": False}
        assert zigbee_codec(Kind.LIGHT).decode(topic, b"") == {}

    def test_a_refusal_is_found_in_its_log(self) -> None:
        def log(name: str, level: str = "error") -> bytes:
            return json.dumps(
                {"level": level, "message": f"z2m: Publish 'set' 'state' to '{name}' failed: 'Error: no'"}
            ).encode()

        lamp = zigbee_codec(Kind.LIGHT)
        assert lamp.decode("zigbee2mqtt/bridge/logging", log("it")) == {"refusal": "Error: no'"}
        assert lamp.decode("zigbee2mqtt/bridge/logging", log("it too")) == {}
        assert lamp.decode("zigbee2mqtt/bridge/logging", log("it", "info")) == {}

    @pytest.mark.parametrize(
        ("kind", "command", "words"),
        [
            (Kind.LIGHT, SetLight(on=True), {"state": "ON"}),
            (Kind.LIGHT, SetLight(on=True, level=50), {"state": "ON", "brightness": 127}),
            (Kind.LIGHT, SetLight(level=0), {"state": "OFF"}),
            (
                Kind.LIGHT,
                SetLight(color=Color(120, 100, 40)),
                {"brightness": 102, "color": {"hue": 120, "saturation": 100}},
            ),
            (Kind.PLUG, SwitchPlug(on=False), {"state": "OFF"}),
            (Kind.AUTOMATION, MoveShutter(position=40), {"position": 40}),
            (Kind.LOCK, OpenLock(), {"state": "UNLOCK"}),
            (Kind.ACTIVATION, Activate(), {"state": "ON"}),
            (Kind.CHRONOTHERMOSTAT, SetThermostat(mode=ThermostatMode.OFF), {"system_mode": "off"}),
            (
                Kind.CHRONOTHERMOSTAT,
                SetThermostat(function=ThermostatFunction.COOLING, set_point=25.5),
                {"occupied_heating_setpoint": 25.5, "system_mode": "cool"},
            ),
        ],
    )
    def test_a_command_is_one_message(self, kind: Kind, command: Command, words: dict[str, Any]) -> None:
        assert messages_of(zigbee_codec(kind), kind, command) == [("zigbee2mqtt/it/set", words)]

    @pytest.mark.parametrize(
        "command",
        [
            SetThermostat(mode=ThermostatMode.PROTECTION),
            SetThermostat(program=1),
            SetThermostat(activation_time=1.0),
            SetThermostat(set_point=41),
            SetThermostat(),
            SwitchPlug(on=True),
        ],
    )
    def test_unsupported_commands_are_refused(self, command: Command) -> None:
        with pytest.raises((Unsupported, DeviceRefused)):
            messages_of(zigbee_codec(Kind.CHRONOTHERMOSTAT), Kind.CHRONOTHERMOSTAT, command)
