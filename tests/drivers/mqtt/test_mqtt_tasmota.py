"""The Tasmota dialect: decoding of real payloads, encoding of commands."""

from typing import Any

import pytest

from domogate.domain.commands import Command, MoveShutter, OpenLock, SetLight, SwitchPlug, SwitchSocket
from domogate.domain.devices import DeviceKind as Kind
from domogate.domain.states import Color
from support.mqtt_dialects import messages_of, tasmota_codec


class TestTasmota:
    # Its pages "MQTT", "Lights", "Blinds and Shutters" and "Sonoff Pow R2".
    @pytest.mark.parametrize(
        ("kind", "topic", "payload", "properties"),
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
            (
                Kind.PLUG,
                "stat/it/RESULT",
                '{"Command":"Unknown"}',
                {"refusal": "the device does not know the command (Unknown)"},
            ),
            (Kind.PLUG, "tele/it/LWT", "Online", {"available": True}),
            (Kind.PLUG, "tele/it/LWT", "Offline", {"available": False}),
        ],
    )
    def test_a_message_is_read(self, kind: Kind, topic: str, payload: str, properties: dict[str, Any]) -> None:
        codec = tasmota_codec(kind, **({"sockets": 3} if kind is Kind.MULTISOCKET else {}))
        assert topic in codec.topics
        assert codec.decode(topic, payload.encode()) == properties

    def test_its_own_words_topics_and_relays(self) -> None:
        codec = tasmota_codec(
            Kind.PLUG, fullTopic="home/%topic%/%prefix%/", prefixes=["do", "is", "info"], relay=3, states=["AUS", "AN"]
        )
        assert codec.decode("home/it/is/POWER3", b"AN") == {"on": True}
        assert codec.decode("home/it/info/STATE", b'{"POWER": "AN", "POWER3": "AUS"}') == {"on": False}
        assert messages_of(codec, Kind.PLUG, SwitchPlug(on=True)) == [("home/it/do/POWER3", "ON")]

    @pytest.mark.parametrize(
        ("total", "of_the_second", "of_all"),
        [
            ("1.5", {"power": 4.0}, {"power": 7.0, "energy": 1500.0}),
            ("[1.0,0.5]", {"power": 4.0, "energy": 500.0}, {"power": 7.0, "energy": 1500.0}),  # SetOption129 1
        ],
    )
    def test_a_relay_gets_only_its_own_energy(
        self, total: str, of_the_second: dict[str, float], of_all: dict[str, float]
    ) -> None:
        sensor = f'{{"ENERGY":{{"Total":{total},"Power":[3,4]}}}}'.encode()
        assert tasmota_codec(Kind.PLUG, relay=2).decode("tele/it/SENSOR", sensor) == of_the_second
        assert tasmota_codec(Kind.ENERGYMETER).decode("tele/it/SENSOR", sensor) == of_all

    @pytest.mark.parametrize(
        ("part", "relay", "properties", "told"),
        [
            ("color", 2, {"on": True, "level": 60, "hue": 21.0, "saturation": 55.0}, "Dimmer1"),
            ("white", 3, {"on": False, "level": 30}, "Dimmer2"),
        ],
    )
    def test_the_colour_and_the_white_of_a_lamp_are_dimmed_one_by_one(
        self, part: str, relay: int, properties: dict[str, Any], told: str
    ) -> None:
        # The state of a device with one relay, and with an RGBW lamp whose white is not linked (SetOption37 128).
        state = b'{"POWER1":"ON","POWER2":"ON","Dimmer1":60,"POWER3":"OFF","Dimmer2":30,"HSBColor":"21,55,60","White":30}'
        codec = tasmota_codec(Kind.LIGHT, part=part, relay=relay)
        assert codec.decode("tele/it/STATE", state) == properties
        assert messages_of(codec, Kind.LIGHT, SetLight(on=True, level=40)) == [
            (f"cmnd/it/{told}", "40"),
            (f"cmnd/it/POWER{relay}", "ON"),
        ]

    def test_the_channels_of_a_dimmer_are_dimmed_one_by_one(self) -> None:
        codec = tasmota_codec(Kind.LIGHT, part="channel", relay=2)  # SetOption68 1
        state = b'{"POWER1":"ON","Channel1":10,"POWER2":"ON","Channel2":75,"Color":"1ABF"}'
        assert codec.decode("stat/it/RESULT", state) == {"on": True, "level": 75}
        assert messages_of(codec, Kind.LIGHT, SetLight(level=40)) == [("cmnd/it/Channel2", "40")]

    def test_a_shutter_may_count_the_other_way(self) -> None:
        codec = tasmota_codec(Kind.AUTOMATION, inverted=True)  # ShutterInvert 1: 0 is open, 100 is closed
        payload = b'{"Shutter1":{"Position":10,"Direction":1,"Target":0,"Tilt":0}}'
        assert codec.decode("stat/it/RESULT", payload) == {"position": 90, "target": 100}
        assert codec.decode("stat/it/RESULT", b'{"ShutterPosition1":30}') == {"target": 70}
        assert messages_of(codec, Kind.AUTOMATION, MoveShutter(position=100)) == [("cmnd/it/ShutterPosition1", "0")]

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
        codec = tasmota_codec(kind, **({"sockets": 3} if kind is Kind.MULTISOCKET else {}))
        assert messages_of(codec, kind, command) == told
