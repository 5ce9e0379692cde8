"""What each dialect makes of payloads as the real things send them, and of any others."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domogate.domain.commands import (
    Activate,
    Command,
    MoveShutter,
    OpenLock,
    SetLight,
    SetThermostat,
    SwitchPlug,
    SwitchSocket,
)
from domogate.domain.devices import DeviceKind as Kind
from domogate.domain.states import Battery, Color, Reading, ThermostatFunction, ThermostatMode
from domogate.drivers.mqtt.dialects import generic, tasmota, zigbee2mqtt
from domogate.drivers.mqtt.facts import Facts, Speech, Unreadable, Unsayable
from domogate.drivers.mqtt.kinds import UNITS, fold, still_wanted, wish
from domogate.drivers.mqtt.options import find_option_problems, read_options
from support.examples import examples

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def speak(kind: Kind, **options: Any) -> Speech:
    assert not list(find_option_problems(kind, options))
    return read_options(options).speech_for(kind)


def zigbee(kind: Kind, **options: Any) -> Speech:
    return speak(kind, dialect="zigbee2mqtt", **({"name": "it"} | options))


def tasmo(kind: Kind, **options: Any) -> Speech:
    return speak(kind, dialect="tasmota", topic="it", **options)


def said(speech: Speech, kind: Kind, command: Command) -> list[tuple[str, Any]]:
    spoken = [(one.topic, one.payload.decode()) for one in speech.say(wish(kind, command))]
    return [(topic, json.loads(text) if text.startswith("{") else text) for topic, text in spoken]


class TestZigbee2Mqtt:
    # Its page "MQTT Topics and Messages", and of each device's page the section "Exposes".
    @pytest.mark.parametrize(
        ("kind", "payload", "facts"),
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
    def test_a_state_is_read(self, kind: Kind, payload: dict[str, Any], facts: dict[str, Any]) -> None:
        assert zigbee(kind).hear("zigbee2mqtt/it", json.dumps(payload).encode()) == facts

    def test_chromaticity_becomes_hue_and_saturation(self) -> None:
        for x, y, hue in ((0.64, 0.33, 0), (0.30, 0.60, 120), (0.15, 0.06, 240)):  # the corners of sRGB
            facts = zigbee(Kind.LIGHT).hear("zigbee2mqtt/it", json.dumps({"color": {"x": x, "y": y}}).encode())
            assert facts["hue"] == pytest.approx(hue, abs=2)
            assert facts["saturation"] == pytest.approx(100, abs=2)
        white = zigbee(Kind.LIGHT).hear("zigbee2mqtt/it", b'{"color": {"x": 0.3127, "y": 0.329}}')
        assert white["saturation"] == pytest.approx(0, abs=2)

    def test_a_thermostat_may_call_its_set_point_otherwise(self) -> None:
        speech = zigbee(Kind.CHRONOTHERMOSTAT, setPoint="current_heating_setpoint")
        assert speech.hear("zigbee2mqtt/it", b'{"current_heating_setpoint": 19.5}') == {"set_point": 19.5}
        assert said(speech, Kind.CHRONOTHERMOSTAT, SetThermostat(set_point=22))[0][1] == {"current_heating_setpoint": 22}

    def test_endpoints_are_told_apart(self) -> None:
        payload = b'{"state_l1": "ON", "state_l2": "OFF", "state_l3": "ON", "brightness_l2": 254}'
        sockets = zigbee(Kind.MULTISOCKET, endpoints=["l1", "l2"])
        assert sockets.hear("zigbee2mqtt/it", payload) == {"sockets": {0: True, 1: False}}
        assert said(sockets, Kind.MULTISOCKET, SwitchSocket(socket=1, on=True)) == [("zigbee2mqtt/it/set", {"state_l2": "ON"})]
        with pytest.raises(Unsayable, match="no socket 2"):
            said(sockets, Kind.MULTISOCKET, SwitchSocket(socket=2, on=True))
        assert zigbee(Kind.LIGHT, endpoint="l2").hear("zigbee2mqtt/it", payload) == {"on": False, "level": 100}

    @pytest.mark.parametrize("payload", [b"online", b'{"state":"online"}', b'{"state": "online"}'])
    @pytest.mark.parametrize("topic", ["zigbee2mqtt/it/availability", "zigbee2mqtt/bridge/state"])
    def test_availability_is_read_in_both_ways(self, topic: str, payload: bytes) -> None:
        assert zigbee(Kind.LIGHT).hear(topic, payload) == {"available": True}
        assert zigbee(Kind.LIGHT).hear(topic, payload.replace(b"online", b"offline")) == {"available": False}
        assert zigbee(Kind.LIGHT).hear(topic, b"") == {}

    def test_a_refusal_is_found_in_its_log(self) -> None:
        def log(name: str, level: str = "error") -> bytes:
            return json.dumps(
                {"level": level, "message": f"z2m: Publish 'set' 'state' to '{name}' failed: 'Error: no'"}
            ).encode()

        lamp = zigbee(Kind.LIGHT)
        assert lamp.hear("zigbee2mqtt/bridge/logging", log("it")) == {"refusal": "Error: no'"}
        assert lamp.hear("zigbee2mqtt/bridge/logging", log("it too")) == {}
        assert lamp.hear("zigbee2mqtt/bridge/logging", log("it", "info")) == {}

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
        assert said(zigbee(kind), kind, command) == [("zigbee2mqtt/it/set", words)]

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
    def test_what_has_no_word_is_refused(self, command: Command) -> None:
        with pytest.raises(Unsayable):
            said(zigbee(Kind.CHRONOTHERMOSTAT), Kind.CHRONOTHERMOSTAT, command)


class TestTasmota:
    # Its pages "MQTT", "Lights", "Blinds and Shutters" and "Sonoff Pow R2".
    @pytest.mark.parametrize(
        ("kind", "topic", "payload", "facts"),
        [
            (Kind.PLUG, "stat/it/RESULT", '{"POWER":"ON"}', {"on": True}),
            (Kind.PLUG, "stat/it/POWER", "OFF", {"on": False}),
            (Kind.PLUG, "stat/it/POWER1", "ON", {"on": True}),
            (
                Kind.PLUG,
                "tele/it/STATE",
                '{"Time":"2018-02-15T01:00:50","Vcc":3.504,"POWER":"OFF","Wifi":{"AP":1}}',
                {"on": False},
            ),
            (
                Kind.PLUG,
                "tele/it/SENSOR",
                '{"Time":"2018-02-15T17:37:10","ENERGY":{"Total":6.294,"Yesterday":5.340,"Today":0.954,"Power":2635,"Voltage":227}}',
                {"power": 2635.0, "energy": 6294.0},
            ),
            (
                Kind.ENERGYMETER,
                "stat/it/STATUS10",
                '{"StatusSNS":{"ENERGY":{"Total":1.5,"Power":[3,4]}}}',
                {"power": 7.0, "energy": 1500.0},
            ),
            (
                Kind.LIGHT,
                "stat/it/RESULT",
                '{"POWER":"ON","Dimmer":60,"Color":"996245","HSBColor":"21,55,60","Channel":[60,38,27]}',
                {"on": True, "level": 60, "hue": 21.0, "saturation": 55.0},
            ),
            (
                Kind.AUTOMATION,
                "stat/it/RESULT",
                '{"Shutter1":{"Position":27,"Direction":1,"Target":100}}',
                {"position": 27, "target": 100},
            ),
            (Kind.AUTOMATION, "stat/it/RESULT", '{"ShutterPosition1":50}', {"target": 50}),
            (Kind.AUTOMATION, "stat/it/RESULT", '{"POWER1":"ON"}', {}),
            (
                Kind.MULTISOCKET,
                "tele/it/STATE",
                '{"POWER1":"ON","POWER2":"OFF","POWER3":"ON"}',
                {"sockets": {0: True, 1: False, 2: True}},
            ),
            (Kind.LOCK, "stat/it/POWER", "ON", {"locked": False}),
            (Kind.PLUG, "stat/it/RESULT", '{"Command":"Unknown"}', {"refusal": "it does not know the command (Unknown)"}),
            (Kind.PLUG, "tele/it/LWT", "Online", {"available": True}),
            (Kind.PLUG, "tele/it/LWT", "Offline", {"available": False}),
        ],
    )
    def test_a_message_is_read(self, kind: Kind, topic: str, payload: str, facts: dict[str, Any]) -> None:
        speech = tasmo(kind, **({"sockets": 3} if kind is Kind.MULTISOCKET else {}))
        assert topic in speech.topics
        assert speech.hear(topic, payload.encode()) == facts

    def test_its_own_words_topics_and_relays(self) -> None:
        speech = tasmo(
            Kind.PLUG, fullTopic="home/%topic%/%prefix%/", prefixes=["do", "is", "info"], relay=3, states=["AUS", "AN"]
        )
        assert speech.hear("home/it/is/POWER3", b"AN") == {"on": True}
        assert speech.hear("home/it/info/STATE", b'{"POWER": "AN", "POWER3": "AUS"}') == {"on": False}
        assert said(speech, Kind.PLUG, SwitchPlug(on=True)) == [("home/it/do/POWER3", "ON")]

    @pytest.mark.parametrize(
        ("kind", "command", "told"),
        [
            (Kind.LIGHT, SetLight(on=True, level=40), [("cmnd/it/Dimmer", "40"), ("cmnd/it/POWER1", "ON")]),
            (Kind.LIGHT, SetLight(on=False, level=40), [("cmnd/it/POWER1", "OFF")]),
            (Kind.LIGHT, SetLight(color=Color(120.4, 99.6, 40)), [("cmnd/it/HSBColor", "120,100,40")]),
            (Kind.AUTOMATION, MoveShutter(position=0), [("cmnd/it/ShutterPosition1", "0")]),
            (Kind.MULTISOCKET, SwitchSocket(socket=2, on=False), [("cmnd/it/POWER3", "OFF")]),
            (Kind.LOCK, OpenLock(), [("cmnd/it/POWER1", "ON")]),
        ],
    )
    def test_a_command_is_told(self, kind: Kind, command: Command, told: list[tuple[str, str]]) -> None:
        speech = tasmo(kind, **({"sockets": 3} if kind is Kind.MULTISOCKET else {}))
        assert said(speech, kind, command) == told


class TestGeneric:
    PUMP: Mapping[str, Any] = {
        "dialect": "generic",
        "state": {
            "on": {"topic": "garden/pump", "path": "relays[0].state", "map": {"open": True, "closed": False}},
            "power": {"topic": "garden/pump", "path": "meter.kilowatts", "scale": 1000},
        },
        "command": {
            "on": {"topic": "garden/pump/set", "payload": '{"relay": "{value}"}', "map": {"true": "open", "false": "closed"}}
        },
        "availability": {"topic": "garden/pump/alive", "online": "1", "offline": "0"},
    }

    def test_paths_tables_and_scales(self) -> None:
        speech = speak(Kind.PLUG, **self.PUMP)
        payload = b'{"relays": [{"state": "open"}], "meter": {"kilowatts": 0.25}}'
        assert speech.hear("garden/pump", payload) == {"on": True, "power": 250.0}
        assert speech.hear("garden/pump", b'{"relays": [], "meter": null}') == {}
        assert speech.hear("garden/pump", b'{"relays": [{"state": "stuck"}]}') == {}
        assert speech.hear("garden/pump/alive", b"0") == {"available": False}
        with pytest.raises(Unreadable):
            speech.hear("garden/pump/alive", b"maybe")

    def test_a_payload_is_filled(self) -> None:
        assert said(speak(Kind.PLUG, **self.PUMP), Kind.PLUG, SwitchPlug(on=False)) == [
            ("garden/pump/set", {"relay": "closed"})
        ]

    @pytest.mark.parametrize(
        ("payload", "on"), [(b"ON", True), (b"off", False), (b"1", True), (b"true", True), (b"0.0", False)]
    )
    def test_a_bare_payload_is_read_as_what_it_says(self, payload: bytes, on: bool) -> None:
        speech = speak(Kind.HEATER, dialect="generic", state={"on": {"topic": "heater"}})
        assert speech.hear("heater", payload) == {"on": on}
        assert speech.hear("heater", b"warm") == {}

    def test_numbers_are_scaled_both_ways(self) -> None:
        lamp = speak(
            Kind.LIGHT,
            dialect="generic",
            state={"on": {"topic": "l/on"}, "level": {"topic": "l/dim", "scale": 0.3921568627}},
            command={"on": {"topic": "l/on/set"}, "level": {"topic": "l/dim/set", "scale": 2.55}},
        )
        assert lamp.hear("l/dim", b"255") == {"level": 100}
        assert said(lamp, Kind.LIGHT, SetLight(on=True, level=50)) == [("l/on/set", "true"), ("l/dim/set", "127")]
        with pytest.raises(Unsayable, match="hue"):
            said(lamp, Kind.LIGHT, SetLight(color=Color(1, 2, 3)))

    def test_a_thermostat_by_tables(self) -> None:
        speech = speak(
            Kind.CHRONOTHERMOSTAT,
            dialect="generic",
            state={
                "setPoint": {"topic": "t", "path": "target"},
                "mode": {"topic": "t", "path": "mode", "map": {"eco": "protection", "auto": "automatic"}},
                "temperature": {"topic": "t", "path": "is"},
                "loadActive": {"topic": "t", "path": "valve"},
            },
            command={"mode": {"topic": "t/set", "map": {"protection": "eco", "automatic": "auto"}}},
        )
        heard = speech.hear("t", b'{"target": 19, "mode": "eco", "is": 18.2, "valve": true}')
        assert heard == {"set_point": 19.0, "mode": ThermostatMode.PROTECTION, "temperature": 18.2, "load_active": True}
        assert said(speech, Kind.CHRONOTHERMOSTAT, SetThermostat(mode=ThermostatMode.PROTECTION)) == [("t/set", "eco")]
        with pytest.raises(Unsayable, match="boost"):
            said(speech, Kind.CHRONOTHERMOSTAT, SetThermostat(mode=ThermostatMode.BOOST))


EVERY_SPEECH = [
    *(
        (kind, zigbee(kind, **({"endpoints": ["l1"]} if kind is Kind.MULTISOCKET else {})))
        for kind in sorted(zigbee2mqtt.KINDS)
    ),
    *((kind, tasmo(kind, **({"sockets": 2} if kind is Kind.MULTISOCKET else {}))) for kind in sorted(tasmota.KINDS)),
    (Kind.PLUG, speak(Kind.PLUG, **TestGeneric.PUMP)),
]
WORDS = st.sampled_from(
    [
        *(
            "state",
            "brightness",
            "color",
            "x",
            "y",
            "hue",
            "saturation",
            "color_mode",
            "position",
            "power",
            "energy",
            "battery",
        ),
        *(
            "system_mode",
            "running_state",
            "local_temperature",
            "occupied_heating_setpoint",
            "lock_state",
            "state_l1",
            "humidity",
        ),
        *("POWER", "POWER1", "Dimmer", "HSBColor", "ENERGY", "Power", "Total", "Shutter1", "Position", "StatusSNS", "Command"),
        *("relays", "meter", "kilowatts", "level", "message"),
    ]
)
SPOKEN = st.dictionaries(WORDS, JSON | st.dictionaries(WORDS, JSON, max_size=3), max_size=5)

OPTIONS = st.dictionaries(
    st.sampled_from(["state", "command", "topic", "name", "availability", "fullTopic"]),
    JSON | st.dictionaries(st.sampled_from(["on", "level", "topic", "path", "map"]), JSON, max_size=2),
    max_size=3,
)


class TestAnything:
    """No payload at all does more than be unreadable, and what is read is within its bounds."""

    @given(st.sampled_from(EVERY_SPEECH), st.data())
    def test_any_bytes_and_any_json(self, of: tuple[Kind, Speech], data: st.DataObject) -> None:
        kind, speech = of
        topic = data.draw(st.sampled_from(sorted(speech.topics)))
        payload = data.draw(st.binary(max_size=60) | (JSON | SPOKEN).map(lambda value: json.dumps(value).encode()))
        try:
            facts = speech.hear(topic, payload)
        except Unreadable:
            return
        assert set(facts) <= Facts.__annotations__.keys()
        for what, (low, high) in {"level": (0, 100), "position": (0, 100), "set_point": (3, 40), "humidity": (0, 100)}.items():
            assert low <= facts.get(what, low) <= high  # type: ignore[operator]  # facts are numbers here
        readings = {what: Reading(facts[what], UNITS[what], 1.0) for what in UNITS if what in facts}  # type: ignore[literal-required]  # by name
        fold(kind, facts, readings)

    @given(st.sampled_from(("zigbee2mqtt", "tasmota", "generic")), OPTIONS)
    @settings(max_examples=examples(60))
    def test_any_options_are_read_or_refused_with_words(self, dialect: str, options: dict[str, Any]) -> None:
        for path, words in find_option_problems(Kind.LIGHT, {**options, "dialect": dialect}):
            assert words
            assert all(isinstance(part, str | int) for part in path)


class TestConfirming:
    @given(st.integers(0, 100))
    def test_a_level_comes_back_near_enough(self, level: int) -> None:
        lamp = zigbee(Kind.LIGHT)
        wanted = wish(Kind.LIGHT, SetLight(on=True, level=level))
        payload = lamp.say(wanted)[0].payload
        assert not still_wanted(wanted, lamp.hear("zigbee2mqtt/it", payload))

    @given(st.floats(0, 360), st.floats(0, 100))
    def test_a_colour_comes_back_near_enough(self, hue: float, saturation: float) -> None:
        lamp = tasmo(Kind.LIGHT)
        wanted = wish(Kind.LIGHT, SetLight(color=Color(hue, saturation, 80)))
        (told,) = lamp.say(wanted)
        answer = json.dumps({"POWER": "ON", "Dimmer": 80, "HSBColor": told.payload.decode()})
        assert not still_wanted(wanted, lamp.hear("stat/it/RESULT", answer.encode()))

    def test_what_is_not_said_is_still_wanted(self) -> None:
        wanted = Facts(on=True, level=50)
        assert still_wanted(wanted, Facts(on=True)) == {"level": 50}
        assert still_wanted(wanted, Facts(on=False, level=51)) == {"on": True}
        assert still_wanted(Facts(sockets={1: True}), Facts(sockets={0: True})) == {"sockets": {1: True}}
        assert not still_wanted(Facts(position=80), Facts(position=3, target=80))


class TestOptions:
    @pytest.mark.parametrize(
        ("kind", "options", "path", "words"),
        [
            (Kind.LIGHT, {}, (), "dialect is missing"),
            (Kind.LIGHT, {"dialect": "esphome"}, ("dialect",), "zigbee2mqtt, tasmota, generic"),
            (Kind.LIGHT, {"dialect": "zigbee2mqtt"}, ("name",), "friendly name is missing"),
            (Kind.LIGHT, {"dialect": "zigbee2mqtt", "name": "a/#"}, ("name",), "no single topic"),
            (Kind.LIGHT, {"dialect": "zigbee2mqtt", "name": "a", "nmae": 1}, ("nmae",), "no option 'nmae'"),
            (Kind.EMERGENCY_UNIT, {"dialect": "zigbee2mqtt", "name": "a"}, (), "cannot drive a module of kind emergency unit"),
            (Kind.MULTISOCKET, {"dialect": "zigbee2mqtt", "name": "a"}, ("endpoints",), "endpoints"),
            (Kind.LIGHT, {"dialect": "tasmota", "topic": 7}, ("topic",), "expected `str`"),
            (Kind.LIGHT, {"dialect": "tasmota", "topic": "a", "fullTopic": "x"}, ("fullTopic",), "%prefix%"),
            (Kind.MULTISOCKET, {"dialect": "tasmota", "topic": "a"}, ("sockets",), "how many relays"),
            (Kind.REMOTE, {"dialect": "tasmota", "topic": "a"}, (), "cannot drive"),
            (Kind.LIGHT, {"dialect": "generic"}, ("state",), "needs on"),
            (
                Kind.LIGHT,
                {"dialect": "generic", "state": {"on": {"topic": "a", "path": "x..y"}}},
                ("state", "on", "path"),
                "no path",
            ),
            (
                Kind.PLUG,
                {"dialect": "generic", "state": {"on": {"topic": "a"}}, "command": {"level": {"topic": "b"}}},
                ("command", "level"),
                "is not told",
            ),
            (
                Kind.LIGHT,
                {"dialect": "generic", "state": {"on": {"topic": "a"}}, "command": {"level": {"topic": "b"}}},
                ("command", "level"),
                "confirm: broker",
            ),
            (
                Kind.LIGHT,
                {"dialect": "generic", "state": {"brightness": {"topic": "a"}}},
                ("state", "brightness"),
                "there is no",
            ),
        ],
    )
    def test_what_is_wrong_is_said_with_its_place(
        self, kind: Kind, options: dict[str, Any], path: tuple[str, ...], words: str
    ) -> None:
        problems = list(find_option_problems(kind, options))
        assert any(where == path and words in said for where, said in problems), problems

    def test_every_kind_that_a_dialect_drives_has_a_state(self) -> None:
        from domogate.drivers.mqtt.kinds import KINDS

        assert zigbee2mqtt.KINDS | tasmota.KINDS | generic.KINDS == KINDS
