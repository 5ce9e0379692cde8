"""The generic dialect, and what holds for every dialect: any payload, confirmation, wrong options."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domogate.domain.commands import SetLight, SetThermostat, SwitchPlug
from domogate.domain.devices import DeviceKind as Kind
from domogate.domain.states import Color, Reading, ThermostatFunction, ThermostatMode
from domogate.drivers.mqtt import emergency
from domogate.drivers.mqtt.dialects import generic, tasmota, zigbee2mqtt
from domogate.drivers.mqtt.kinds import make_state, unconfirmed
from domogate.drivers.mqtt.options import find_option_problems
from domogate.drivers.mqtt.payloads import Unreadable
from domogate.drivers.mqtt.properties import MEASURES, Codec, Properties, Unsupported
from support.examples import examples
from support.mqtt_dialects import make_codec, messages_of, tasmota_codec, wanted_light, zigbee_codec

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


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
        codec = make_codec(Kind.PLUG, **self.PUMP)
        payload = b'{"relays": [{"state": "open"}], "meter": {"kilowatts": 0.25}}'
        assert codec.decode("garden/pump", payload) == {"on": True, "power": 250.0}
        assert codec.decode("garden/pump", b'{"relays": [], "meter": null}') == {}
        assert codec.decode("garden/pump", b'{"relays": [{"state": "stuck"}]}') == {}
        assert codec.decode("garden/pump/alive", b"0") == {"available": False}
        with pytest.raises(Unreadable):
            codec.decode("garden/pump/alive", b"maybe")

    def test_a_payload_is_filled(self) -> None:
        assert messages_of(make_codec(Kind.PLUG, **self.PUMP), Kind.PLUG, SwitchPlug(on=False)) == [
            ("garden/pump/set", {"relay": "closed"})
        ]

    @pytest.mark.parametrize(
        ("payload", "on"), [(b"ON", True), (b"off", False), (b"1", True), (b"true", True), (b"0.0", False)]
    )
    def test_a_bare_payload_is_read_as_what_it_says(self, payload: bytes, on: bool) -> None:
        codec = make_codec(Kind.HEATER, dialect="generic", state={"on": {"topic": "heater"}})
        assert codec.decode("heater", payload) == {"on": on}
        assert codec.decode("heater", b"warm") == {}

    def test_numbers_are_scaled_both_ways(self) -> None:
        lamp = make_codec(
            Kind.LIGHT,
            dialect="generic",
            state={"on": {"topic": "l/on"}, "level": {"topic": "l/dim", "scale": 0.3921568627}},
            command={"on": {"topic": "l/on/set"}, "level": {"topic": "l/dim/set", "scale": 2.55}},
        )
        assert lamp.decode("l/dim", b"255") == {"level": 100}
        assert messages_of(lamp, Kind.LIGHT, SetLight(on=True, level=50)) == [("l/on/set", "true"), ("l/dim/set", "127")]
        with pytest.raises(Unsupported, match="hue"):
            messages_of(lamp, Kind.LIGHT, SetLight(color=Color(1, 2, 3)))

    def test_a_scaled_number_reaches_its_limit(self) -> None:
        color = {"saturation": {"topic": "l/s", "scale": 100 / 11}, "hue": {"topic": "l/h", "scale": 360 / 254}}
        lamp = make_codec(Kind.LIGHT, dialect="generic", state={"on": {"topic": "l/on"}, **color})
        assert 11 * (100 / 11) > 100
        assert lamp.decode("l/s", b"11") == {"saturation": 100.0}
        assert lamp.decode("l/s", b"11.1") == {}
        assert lamp.decode("l/h", b"254") == {"hue": 360.0}

    def test_a_number_may_be_a_json_string(self) -> None:
        codec = make_codec(Kind.ENERGYMETER, dialect="generic", state={"power": {"topic": "m", "path": "p", "scale": 10}})
        assert codec.decode("m", b'{"p": "2.5"}') == {"power": 25.0}
        assert codec.decode("m", b'{"p": "much"}') == {}

    def test_a_color_in_one_message(self) -> None:
        lamp = make_codec(
            Kind.LIGHT,
            dialect="generic",
            state={"on": {"topic": "l"}, "hue": {"topic": "l", "path": "h"}, "saturation": {"topic": "l", "path": "s"}},
            command={"color": {"topic": "l/set", "payload": '{"h": {hue}, "s": {saturation}, "both": "{value}"}'}},
        )
        assert lamp.settable == frozenset(("hue", "saturation"))
        (told,) = lamp.encode(Properties(hue=12.34, saturation=50.0))
        assert told.payload == b'{"h": 12.3, "s": 50, "both": "12.3,50"}'

    def test_a_thermostat_by_tables(self) -> None:
        codec = make_codec(
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
        recorder = codec.decode("t", b'{"target": 19, "mode": "eco", "is": 18.2, "valve": true}')
        assert recorder == {"set_point": 19.0, "mode": ThermostatMode.PROTECTION, "temperature": 18.2, "load_active": True}
        assert messages_of(codec, Kind.CHRONOTHERMOSTAT, SetThermostat(mode=ThermostatMode.PROTECTION)) == [("t/set", "eco")]
        with pytest.raises(Unsupported, match="boost"):
            messages_of(codec, Kind.CHRONOTHERMOSTAT, SetThermostat(mode=ThermostatMode.BOOST))

    def test_a_thermostat_without_a_word_for_what_it_always_is(self) -> None:
        codec = make_codec(
            Kind.CHRONOTHERMOSTAT,
            dialect="generic",
            state={"setPoint": {"topic": "t"}},
            command={"setPoint": {"topic": "t/set"}},
        )
        heating, manual = ThermostatFunction.HEATING, ThermostatMode.MANUAL
        assert messages_of(codec, Kind.CHRONOTHERMOSTAT, SetThermostat(function=heating, mode=manual, set_point=21)) == [
            ("t/set", "21")
        ]
        assert messages_of(codec, Kind.CHRONOTHERMOSTAT, SetThermostat(function=heating)) == []
        with pytest.raises(Unsupported, match="function"):
            messages_of(codec, Kind.CHRONOTHERMOSTAT, SetThermostat(function=ThermostatFunction.COOLING, set_point=21))
        with pytest.raises(Unsupported, match="mode"):
            messages_of(codec, Kind.CHRONOTHERMOSTAT, SetThermostat(mode=ThermostatMode.AUTOMATIC))


EVERY_SPEECH = [
    *(
        (kind, zigbee_codec(kind, **({"endpoints": ["l1"]} if kind is Kind.MULTISOCKET else {})))
        for kind in sorted(zigbee2mqtt.KINDS)
    ),
    *((kind, tasmota_codec(kind, **({"sockets": 2} if kind is Kind.MULTISOCKET else {}))) for kind in sorted(tasmota.KINDS)),
    (Kind.PLUG, make_codec(Kind.PLUG, **TestGeneric.PUMP)),
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
    """Any payload is either unreadable or gives properties within their bounds."""

    @given(st.sampled_from(EVERY_SPEECH), st.data())
    def test_any_bytes_and_any_json(self, of: tuple[Kind, Codec], data: st.DataObject) -> None:
        kind, codec = of
        topic = data.draw(st.sampled_from(sorted(codec.topics)))
        payload = data.draw(st.binary(max_size=60) | (JSON | SPOKEN).map(lambda value: json.dumps(value).encode()))
        try:
            properties = codec.decode(topic, payload)
        except Unreadable:
            return
        assert set(properties) <= Properties.__annotations__.keys()
        for what, (low, high) in {"level": (0, 100), "position": (0, 100), "set_point": (3, 40), "humidity": (0, 100)}.items():
            number = properties.get(what, low)
            assert isinstance(number, int | float)
            assert low <= number <= high
        readings: dict[str, Reading] = {
            what: Reading(properties[what], unit, 1.0) for what, unit in MEASURES.items() if what in properties
        }
        make_state(kind, properties, readings)

    @given(st.sampled_from(("zigbee2mqtt", "tasmota", "generic")), OPTIONS)
    @settings(max_examples=examples(60))
    def test_any_options_are_read_or_refused_with_words(self, dialect: str, options: dict[str, Any]) -> None:
        for path, words in find_option_problems(Kind.LIGHT, {**options, "dialect": dialect}):
            assert words
            assert all(isinstance(part, str | int) for part in path)


class TestConfirming:
    @given(st.integers(1, 100))
    def test_a_level_comes_back_near_enough(self, level: int) -> None:
        lamp = zigbee_codec(Kind.LIGHT)
        wanted = wanted_light(SetLight(on=True, level=level))
        payload = lamp.encode(wanted)[0].payload
        assert not unconfirmed(wanted, lamp.decode("zigbee2mqtt/it", payload))

    @given(st.floats(0, 360), st.floats(0, 100))
    def test_a_colour_comes_back_near_enough(self, hue: float, saturation: float) -> None:
        lamp = tasmota_codec(Kind.LIGHT)
        wanted = wanted_light(SetLight(color=Color(hue, saturation, 80)))
        (told,) = lamp.encode(wanted)
        answer = json.dumps({"POWER": "ON", "Dimmer": 80, "HSBColor": told.payload.decode()})
        assert not unconfirmed(wanted, lamp.decode("stat/it/RESULT", answer.encode()))

    def test_what_is_not_said_is_still_wanted(self) -> None:
        wanted = Properties(on=True, level=50)
        assert unconfirmed(wanted, Properties(on=True)) == {"level": 50}
        assert unconfirmed(wanted, Properties(on=False, level=51)) == {"on": True}
        assert unconfirmed(Properties(sockets={1: True}), Properties(sockets={0: True})) == {"sockets": {1: True}}
        assert not unconfirmed(Properties(position=80), Properties(position=3, target=80))


class TestOptions:
    @pytest.mark.parametrize(
        ("kind", "options", "path", "words"),
        [
            (Kind.LIGHT, {}, (), "dialect is missing"),
            (Kind.LIGHT, {"dialect": "esphome"}, ("dialect",), "zigbee2mqtt, tasmota, generic"),
            (Kind.LIGHT, {"dialect": "zigbee2mqtt"}, ("name",), "friendly name is missing"),
            (Kind.LIGHT, {"dialect": "zigbee2mqtt", "name": "a/#"}, ("name",), "not a single topic"),
            (Kind.LIGHT, {"dialect": "zigbee2mqtt", "name": "a", "nmae": 1}, ("nmae",), "no option 'nmae'"),
            (Kind.EMERGENCY_UNIT, {"dialect": "zigbee2mqtt", "name": "a"}, (), "cannot drive a module of kind emergency unit"),
            (Kind.MULTISOCKET, {"dialect": "zigbee2mqtt", "name": "a"}, ("endpoints",), "endpoints"),
            (Kind.LIGHT, {"dialect": "tasmota", "topic": 7}, ("topic",), "expected `str`"),
            (Kind.LIGHT, {"dialect": "tasmota", "topic": "a", "fullTopic": "x"}, ("fullTopic",), "%prefix%"),
            (Kind.LIGHT, {"dialect": "tasmota", "topic": "a", "fullTopic": "%prefix%/%id%"}, ("fullTopic",), "%id%"),
            (Kind.MULTISOCKET, {"dialect": "tasmota", "topic": "a"}, ("sockets",), "number of its relays"),
            (Kind.REMOTE, {"dialect": "tasmota", "topic": "a"}, (), "cannot drive"),
            (Kind.LIGHT, {"dialect": "generic"}, ("state",), "needs on"),
            (
                Kind.LIGHT,
                {"dialect": "generic", "state": {"on": {"topic": "a", "path": "x..y"}}},
                ("state", "on", "path"),
                "not a path",
            ),
            (
                Kind.PLUG,
                {"dialect": "generic", "state": {"on": {"topic": "a"}}, "command": {"level": {"topic": "b"}}},
                ("command", "level"),
                "takes no command",
            ),
            (
                Kind.LIGHT,
                {"dialect": "generic", "state": {"on": {"topic": "a"}}, "command": {"level": {"topic": "b"}}},
                ("command", "level"),
                "confirm: broker",
            ),
            (
                Kind.LIGHT,
                {"dialect": "generic", "state": {"on": {"topic": "a"}}, "command": {"color": {"topic": "b"}}},
                ("command", "color"),
                "nothing would confirm it",
            ),
            (
                Kind.LIGHT,
                {"dialect": "generic", "state": {"on": {"topic": "a"}}, "availability": [{"topic": "b"}, {"topic": "b"}]},
                ("availability",),
                "each topic once",
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
        assert any(where == path and words in messages_of for where, messages_of in problems), problems

    def test_every_kind_that_a_dialect_drives_has_a_state(self) -> None:
        from domogate.drivers.mqtt.kinds import KINDS

        assert zigbee2mqtt.KINDS | tasmota.KINDS | generic.KINDS | emergency.KINDS == KINDS
