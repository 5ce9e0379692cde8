"""Modules from announcements for Home Assistant, as its page "MQTT" documents them."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from domogate.domain.commands import Command, MoveShutter, SetLight, SetThermostat, SwitchPlug
from domogate.domain.states import (
    AutomationState,
    Color,
    LightState,
    PlugState,
    ThermostatFunction,
    ThermostatMode,
    ThermostatState,
)
from domogate.drivers.mqtt import MqttBroker
from domogate.drivers.mqtt import discovery as mqtt_discovery
from domogate.drivers.mqtt.connection import Connection
from domogate.drivers.mqtt.discovery import collect_announcements, discover, find_modules
from domogate.drivers.mqtt.home_assistant import FILTERS
from support.mosquitto import DeviceClient, Mosquitto
from support.mqtt_home_assistant import COVER, DEVICE, LIGHT, SWITCH, announced, codec_of, found_in, reason_of
from support.mqtt_setup import attached_module, running_driver

WITHOUT_KIND = [
    "number",
    "select",
    "text",
    "vacuum",
    "lawn_mower",
    "update",
    "device_tracker",
    "notify",
    "tag",
    "image",
    "event",
]


class TestAnnouncements:
    def test_a_device_announces_all_its_parts_and_removes_one(self) -> None:
        device = {
            "dev": DEVICE,
            "o": {"name": "bla2mqtt"},
            "~": "d",
            "avty_t": "~/alive",
            "cmps": {
                "relay": {"p": "switch", "cmd_t": "~/1/set", "stat_t": "~/1", "uniq_id": "r"},
                "lamp": {"p": "light", "name": "Lamp", "cmd_t": "~/2/set", "stat_t": "2/~", "uniq_id": "l"},
                "gone": {"p": "light"},
            },
        }
        found, skipped = find_modules(announced("device", device))
        assert not skipped
        assert [(one.name, one.options["state"]["on"]["topic"]) for one in found] == [
            ("Kitchen", "d/1"),
            ("Kitchen Lamp", "2/d"),
        ]
        assert all(one.options["availability"] == {"topic": "d/alive"} for one in found)
        assert len({one.id for one in found}) == 2

    def test_modules_of_a_bridge_are_not_devices(self) -> None:
        announcement = json.dumps({"name": "Lamp", "cmd_t": "x/set", "stat_t": "x", "uniq_id": "1"}).encode()
        topics = {f"homeassistant/switch/{node}/x/config": announcement for node in ("domogate_1", "other")}
        found, skipped = find_modules(topics)
        assert (len(found), skipped) == (1, [])

    def test_an_empty_message_removes_the_announcement(self) -> None:
        assert find_modules({"homeassistant/light/x/config": b"", "homeassistant/light/n/x/config": b""}) == ([], [])

    def test_the_id_stays_the_same_when_the_topic_changes(self) -> None:
        first, again = (found_in(announced("switch", SWITCH, name)) for name in ("one", "other"))
        assert first.id == again.id

    def test_two_announcements_of_the_same_part_are_one_module(self) -> None:
        assert found_in(announced("switch", SWITCH) | announced("switch", SWITCH, "again")).name == "Kitchen"

    def test_all_availability_topics_count(self) -> None:
        listed = [
            {"t": "~/alive", "val_tpl": "{{ value_json.state }}"},
            {"t": "bridge", "pl_avail": "up", "pl_not_avail": "down"},
        ]
        codec = codec_of("switch", SWITCH | {"avty": listed, "avty_mode": "all"})
        assert codec.decode("home/switch/alive", b'{"state": "offline"}') == {"available": False}
        assert codec.decode("bridge", b"up") == {"available": True}

    def test_an_availability_that_cannot_be_used_is_named(self) -> None:
        for own in ({"avty_t": "a", "avty_tpl": "{{ x }}"}, {"avty": [{"t": "a"}, {"t": "b"}], "avty_mode": "any"}):
            found = found_in(announced("switch", SWITCH | own))
            assert "availability" not in found.options
            assert "without its availability" in found.about

    def test_devices_of_zigbee2mqtt_are_found_only_once(self) -> None:
        received = announced("switch", SWITCH | {"~": "attic/lamp"})
        received |= announced("climate", {"temperature_state_topic": "attic/heater", "mode_state_topic": "attic/heater"})
        assert find_modules({**received, "attic/bridge/devices": b"[]"}) == ([], [])
        assert find_modules({**received, "cellar/bridge/devices": b"[]"})[0]

    @pytest.mark.parametrize(
        ("component", "config", "why"),
        [
            ("binary_sensor", {"dev_cla": "motion", "stat_t": "m"}, "no kind of module has motion"),
            ("sensor", {"dev_cla": "temperature", "stat_t": "m", "unit_of_meas": "°C"}, "no kind of module has temperature"),
            ("button", {"cmd_t": "restart", "ent_cat": "config"}, "no kind of module has button"),
            ("switch", {}, "neither a state topic nor a command topic"),
            ("switch", SWITCH | {"val_tpl": "{{ value_json.a and 1 }}"}, "Describe the device with the dialect generic"),
            ("switch", SWITCH | {"~": "home/#"}, "not a single topic"),
            ("light", LIGHT | {"schema": "template", "cmd_on_tpl": "{{ brightness }}"}, "schema 'template'"),
            ("light", LIGHT | {"schema": "x"}, "schema 'x'"),
            ("camera", {"t": "c"}, "a camera must say whether it is on"),
            ("siren", {"cmd_t": "s/set", "stat_t": "s"}, "together with the plugs"),
            ("water_heater", {"temp_cmd_t": "w/set", "temp_stat_t": "w"}, "3 to 40"),
            *((name, {"cmd_t": "x/set", "stat_t": "x"}, f"no kind of module has {name}") for name in WITHOUT_KIND),
            ("light", LIGHT | {"on_command_type": "brightness"}, "switched on by its brightness"),
            ("cover", COVER | {"position_open": 0}, "position_open and position_closed"),
            ("climate", {"temp_cmd_t": "t/set"}, "does not report its set point"),
            ("climate", {"temp_stat_t": "t", "modes": ["off", "cool"]}, "only cools and does not report its mode"),
            ("device", {"dev": DEVICE}, "a device with components is expected"),
        ],
    )
    def test_what_is_no_module_is_passed_over_with_the_reason(self, component: str, config: dict[str, Any], why: str) -> None:
        assert why in reason_of(announced(component, config))


@pytest.mark.slow
class TestWithABroker:
    async def test_an_announced_switch_is_found_and_driven(self, broker: Mosquitto) -> None:
        device = DeviceClient(broker.port)
        device.listen("ha/switch/set")
        device.answer = lambda topic, payload: device.publish("ha/switch/state", payload, retain=True, wait=False)
        topic = "homeassistant/switch/ha/relay/config"
        device.publish(topic, json.dumps(SWITCH | {"~": "ha/switch"}), retain=True)
        device.publish("ha/switch/state", "OFF", retain=True)
        discovery = await discover([MqttBroker(url=broker.url)], None, 0.5, None)
        found = next(one for one in discovery.found if one.name == "Kitchen")
        plug = attached_module("announced", found.kind, found.options)
        async with running_driver(MqttBroker(url=broker.url)) as bench:
            await bench.attach(plug)
            report = await bench.driver.execute(bench.order(plug, SwitchPlug(on=True)))
            assert isinstance(report.state, PlugState)
            assert report.state.on
        device.publish(topic, "", retain=True)
        device.close()
        assert topic not in await collect_announcements(MqttBroker(url=broker.url), 0.3)

    async def test_an_announced_device_with_many_parts_is_driven(self, broker: Mosquitto) -> None:
        device = DeviceClient(broker.port)
        parts = {
            "blind": {"p": "cover", "name": "Blind", "cmd_t": "~/blind/set", "stat_t": "~/blind", "uniq_id": "b"},
            "air": {
                "p": "climate",
                "name": "Air",
                "modes": ["off", "heat", "cool"],
                "uniq_id": "a",
                "temp_cmd_t": "~/air/to/set",
                "temp_stat_t": "~/air/to",
                "mode_cmd_t": "~/air/set",
                "mode_stat_t": "~/air",
            },
            "lamp": {
                "p": "light",
                "name": "Lamp",
                "schema": "json",
                "cmd_t": "~/lamp/set",
                "stat_t": "~/lamp",
                "uniq_id": "l",
                "sup_clrm": ["rgb"],
            },
            "motion": {"p": "binary_sensor", "dev_cla": "motion", "stat_t": "~/motion", "uniq_id": "m"},
        }
        topic = "homeassistant/device/many/config"
        device.publish(topic, json.dumps({"dev": DEVICE, "~": "many", "cmps": parts}), retain=True)
        moves = {b"OPEN": "opening", b"CLOSE": "closing"}
        lamp: dict[str, Any] = {"state": "OFF", "brightness": 0}

        def answer(topic: str, payload: bytes) -> None:
            if topic == "many/lamp/set":
                lamp.update(json.loads(payload))
                device.publish("many/lamp", json.dumps(lamp), retain=True, wait=False)
            else:
                device.publish(topic.removesuffix("/set"), moves.get(payload, payload), retain=True, wait=False)

        device.answer = answer
        device.listen("many/+/set")
        for name, state in (("blind", "open"), ("air/to", "21"), ("air", "off"), ("lamp", json.dumps(lamp))):
            device.publish(f"many/{name}", state, retain=True)
        discovery = await discover([MqttBroker(url=broker.url)], None, 0.5, None)
        found = {one.name.removeprefix("Kitchen "): one for one in discovery.found if one.name.startswith("Kitchen ")}
        modules = {name: attached_module(name, one.kind, one.options) for name, one in found.items()}
        off = SetThermostat(mode=ThermostatMode.OFF, function=ThermostatFunction.COOLING)
        commands: list[tuple[str, Command]] = [
            ("Blind", MoveShutter(0)),
            ("Air", SetThermostat(mode=ThermostatMode.MANUAL, function=ThermostatFunction.COOLING)),
            ("Air", off),
            ("Lamp", SetLight(on=True, color=Color(120, 100, 60))),
        ]
        async with running_driver(MqttBroker(url=broker.url)) as bench:
            await bench.attach(*modules.values())
            states = [(await bench.driver.execute(bench.order(modules[name], command))).state for name, command in commands]
        device.publish(topic, "", retain=True)
        device.close()
        assert states[0] == AutomationState(position=100), "it moves, and says so"
        assert [(one.mode, one.function) for one in states if isinstance(one, ThermostatState)] == [
            (ThermostatMode.MANUAL, ThermostatFunction.COOLING),
            (ThermostatMode.OFF, ThermostatFunction.COOLING),
        ]
        assert states[3] == LightState(on=True, level=60, color=Color(120, 100, 60))

    async def test_announcements_above_the_limit_are_ignored(self, broker: Mosquitto, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(mqtt_discovery, "_MOST_BYTES", 1000)
        device = DeviceClient(broker.port)
        topics = [f"homeassistant/light/limit/{number}/config" for number in range(20)]
        for topic in topics:
            device.publish(topic, "x" * 100, retain=True)
        received = await collect_announcements(MqttBroker(url=broker.url), 0.5)
        for topic in topics:
            device.publish(topic, "", retain=True)
        device.close()
        assert received
        assert sum(len(topic) + len(payload) for topic, payload in received.items()) <= 1000

    async def test_without_the_permission_the_other_devices_are_still_found(
        self, broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        granted = Connection.subscribe

        async def refuse_some(connection: Connection, filters: Sequence[tuple[str, int]]) -> Sequence[int]:
            reasons = await granted(connection, filters)
            return [0x87 if topic in FILTERS else one for (topic, _), one in zip(filters, reasons, strict=True)]

        monkeypatch.setattr(Connection, "subscribe", refuse_some)
        device = DeviceClient(broker.port)
        device.publish("permitted/bridge/devices", "[]", retain=True)
        assert "permitted/bridge/devices" in await collect_announcements(MqttBroker(url=broker.url), 0.3)
        device.publish("permitted/bridge/devices", "", retain=True)
        device.close()
