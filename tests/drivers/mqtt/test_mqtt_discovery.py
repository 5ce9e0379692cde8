"""Modules from announcements: Zigbee2MQTT's list of devices and Tasmota's discovery messages, as documented."""

import json
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domogate.domain.devices import HARDWARE
from domogate.domain.devices import DeviceKind as Kind
from domogate.domain.discovery import FoundModule
from domogate.drivers.mqtt.announcements import from_tasmota, from_zigbee2mqtt
from domogate.drivers.mqtt.discovery import find_modules
from domogate.drivers.mqtt.options import find_option_problems
from domogate.drivers.mqtt.payloads import Unreadable

STATE = {"type": "binary", "name": "state", "property": "state", "value_on": "ON", "value_off": "OFF", "access": 7}


def expose(kind: str, *names: str, endpoint: str | None = None) -> dict[str, Any]:
    features = [{"type": "numeric", "name": name, "property": name, "access": 7} for name in names]
    return {"type": kind, "features": features, **({"endpoint": endpoint} if endpoint else {})}


def numeric(name: str) -> dict[str, Any]:
    return {"type": "numeric", "name": name, "property": name, "access": 1}


def zigbee_device(name: str, *exposes: dict[str, Any], **more: Any) -> dict[str, Any]:
    """As Zigbee2MQTT's page "MQTT Topics and Messages" shows an entry of bridge/devices."""
    return {
        "ieee_address": f"0x{abs(hash(name)):016x}",
        "type": "Router",
        "network_address": 29159,
        "supported": True,
        "disabled": False,
        "friendly_name": name,
        "definition": {
            "source": "native",
            "model": "ZNCZ02LM",
            "vendor": "Xiaomi",
            "description": "Mi power plug",
            "exposes": exposes,
        },
        "power_source": "Mains (single phase)",
        "interview_state": "SUCCESSFUL",
        **more,
    }


def tasmota_config(relays: list[int], **more: Any) -> dict[str, Any]:
    return {
        "ip": "192.0.2.71",
        "dn": "Kitchen",
        "fn": ["Left", "Right", None],
        "hn": "tasmota-F17F56",
        "mac": "E09806F17F56",
        "md": "Athom Plug V2",
        "ty": 0,
        "if": 0,
        "ofln": "Offline",
        "onln": "Online",
        "state": ["OFF", "ON", "TOGGLE", "HOLD"],
        "sw": "10.1.0",
        "t": "tasmota_F17F56",
        "ft": "%prefix%/%topic%/",
        "tp": ["cmnd", "stat", "tele"],
        "rl": relays + [0] * (8 - len(relays)),
        "so": {"4": 0, "11": 0},
        "lk": 0,
        "lt_st": 0,
        "ver": 1,
        **more,
    }


def shown_hardware(found: FoundModule) -> tuple[str, list[str]]:
    default = HARDWARE[found.kind]
    metrics = found.hardware.get("metrics", msgspec.to_builtins(default.metrics))
    return found.hardware.get("deviceType", default.device_type), [one["label"] for one in metrics]


class TestZigbee2Mqtt:
    @pytest.mark.parametrize(
        ("exposes", "kind", "more"),
        [
            ([expose("light", "state", "brightness", "color_xy")], Kind.LIGHT, {}),
            ([expose("switch", "state"), numeric("power"), numeric("energy")], Kind.PLUG, {}),
            (
                [expose("switch", "state", endpoint="l1"), expose("switch", "state", endpoint="l2")],
                Kind.MULTISOCKET,
                {"endpoints": ["l1", "l2"]},
            ),
            ([expose("cover", "state", "position")], Kind.AUTOMATION, {}),
            ([expose("lock", "state", "lock_state")], Kind.LOCK, {}),
            ([expose("climate", "occupied_heating_setpoint", "local_temperature")], Kind.CHRONOTHERMOSTAT, {}),
            ([expose("climate", "current_heating_setpoint")], Kind.CHRONOTHERMOSTAT, {"setPoint": "current_heating_setpoint"}),
            ([{"type": "enum", "name": "action", "values": ["single"]}, numeric("battery")], Kind.REMOTE, {}),
            ([numeric("power"), numeric("voltage")], Kind.ENERGYMETER, {}),
        ],
    )
    def test_a_device_becomes_a_module(self, exposes: list[dict[str, Any]], kind: Kind, more: dict[str, Any]) -> None:
        payload = json.dumps([zigbee_device("my device", *exposes)]).encode()
        (found,), passed = find_modules({"zigbee2mqtt/bridge/devices": payload})
        assert (found.name, found.kind) == ("my device", kind)
        assert found.options == {"dialect": "zigbee2mqtt", "name": "my device", **more}
        assert not passed
        assert not list(find_option_problems(found.kind, found.options))

    @pytest.mark.parametrize(
        ("main", "kind"),
        [
            (expose("switch", "state"), Kind.PLUG),
            (expose("light", "state", "brightness"), Kind.LIGHT),
            (expose("cover", "state", "position"), Kind.AUTOMATION),
        ],
    )
    def test_a_child_lock_makes_no_lock(self, main: dict[str, Any], kind: Kind) -> None:
        # Zigbee2MQTT 1 announces the child lock of a plug (TS011F) as a lock whose state is the property `child_lock`.
        child_lock = {"type": "lock", "features": [{**STATE, "property": "child_lock", "value_on": "LOCK", "access": 3}]}
        payload = json.dumps([zigbee_device("my plug", main, child_lock)]).encode()
        (found,), passed = find_modules({"zigbee2mqtt/bridge/devices": payload})
        assert (found.kind, passed) == (kind, [])

    def test_a_switch_for_a_setting_makes_no_plug(self) -> None:
        setting = {"type": "switch", "features": [{**STATE, "property": "window_detection", "access": 3}]}
        found, (passed,) = find_modules(
            {"zigbee2mqtt/bridge/devices": json.dumps([zigbee_device("sensor", setting, numeric("temperature"))]).encode()}
        )
        assert (found, passed.why) == ([], "no kind of module has temperature")

    def test_it_has_the_same_id_each_time_and_names_base_and_broker_where_needed(self) -> None:
        payload = json.dumps([zigbee_device("lamp", expose("light", "state"))]).encode()
        (first,), _ = find_modules({"attic/bridge/devices": payload}, "upstairs")
        (again,), _ = find_modules({"attic/bridge/devices": payload})
        assert first.id == again.id
        assert first.options == {"dialect": "zigbee2mqtt", "base": "attic", "name": "lamp", "broker": "upstairs"}

    def test_lights_on_several_endpoints_are_several_modules(self) -> None:
        device = zigbee_device("twin", expose("light", "state", endpoint="l1"), expose("light", "state", endpoint="l2"))
        found, _ = find_modules({"zigbee2mqtt/bridge/devices": json.dumps([device]).encode()})
        assert [(one.name, one.options["endpoint"]) for one in found] == [("twin l1", "l1"), ("twin l2", "l2")]
        assert len({one.id for one in found}) == 2

    def test_covers_on_several_endpoints_are_several_modules(self) -> None:
        covers = [expose("cover", "state", "position", endpoint=endpoint) for endpoint in ("left", "right")]
        found, _ = find_modules({"zigbee2mqtt/bridge/devices": json.dumps([zigbee_device("twin", *covers)]).encode()})
        assert [(one.name, one.kind, one.options["endpoint"]) for one in found] == [
            ("twin left", Kind.AUTOMATION, "left"),
            ("twin right", Kind.AUTOMATION, "right"),
        ]
        assert len({one.id for one in found}) == 2

    @pytest.mark.parametrize(
        ("features", "kind", "metrics"),
        [
            (("state", "brightness", "color_temp", "color_xy"), "Dimmer", ["status", "level", "colorHSV"]),
            (("state", "brightness", "color_hs"), "Dimmer", ["status", "level", "colorHSV"]),
            (("state", "brightness", "color_temp"), "Dimmer", ["status", "level"]),
            (("state",), "Relay", ["status"]),
        ],
    )
    def test_a_lamp_shows_only_what_it_can_do(self, features: tuple[str, ...], kind: str, metrics: list[str]) -> None:
        device = zigbee_device("lamp", expose("light", *features))
        (found,), _ = find_modules({"zigbee2mqtt/bridge/devices": json.dumps([device]).encode()})
        assert shown_hardware(found) == (kind, metrics)

    def test_the_coordinator_is_a_gateway(self) -> None:
        device = zigbee_device("Coordinator", type="Coordinator", supported=False, definition=None)
        (found,), _ = find_modules({"zigbee2mqtt/bridge/devices": json.dumps([device]).encode()})
        assert found.kind is Kind.GATEWAY

    @pytest.mark.parametrize(
        ("device", "why"),
        [
            (
                zigbee_device("sensor", numeric("temperature"), numeric("humidity")),
                "no kind of module has humidity, temperature",
            ),
            (zigbee_device("unknown", definition=None, supported=False), "does not support"),
            (zigbee_device("off", expose("switch", "state"), disabled=True), "disabled"),
            (zigbee_device("blind", expose("cover", "state")), "does not report its position"),
            (zigbee_device("a/#/b", expose("switch", "state")), "not a single topic"),
        ],
    )
    def test_what_is_no_module_is_passed_over_with_the_reason(self, device: dict[str, Any], why: str) -> None:
        found, (passed,) = find_modules({"zigbee2mqtt/bridge/devices": json.dumps([device]).encode()})
        assert not found
        assert passed.name == device["friendly_name"]
        assert why in passed.why


class TestTasmota:
    @pytest.mark.parametrize(
        ("config", "sensors", "modules"),
        [
            (tasmota_config([1]), {"ENERGY": {"Total": 0.0}}, [("Kitchen", Kind.PLUG, {})]),
            (tasmota_config([1, 1, 1]), {}, [("Kitchen", Kind.MULTISOCKET, {"sockets": 3})]),
            (tasmota_config([2], lt_st=3), {}, [("Kitchen", Kind.LIGHT, {})]),
            (tasmota_config([3, 3]), {}, [("Kitchen", Kind.AUTOMATION, {})]),
            (tasmota_config([3, 3], sho=[5]), {}, [("Kitchen", Kind.AUTOMATION, {"inverted": True})]),
            (tasmota_config([3, 3], sho=[4]), {}, [("Kitchen", Kind.AUTOMATION, {})]),
            (
                tasmota_config([3, 3, 3, 3], sho=[0, 1]),
                {},
                [
                    ("Kitchen shutter 1", Kind.AUTOMATION, {}),
                    ("Kitchen shutter 2", Kind.AUTOMATION, {"shutter": 2, "inverted": True}),
                ],
            ),
            (tasmota_config([]), {"ENERGY": {"Power": 5}}, [("Kitchen", Kind.ENERGYMETER, {})]),
            (tasmota_config([2, 1]), {}, [("Right", Kind.PLUG, {"relay": 2}), ("Left", Kind.LIGHT, {})]),
            (
                tasmota_config([3, 3, 3, 3, 1]),
                {"ENERGY": {"Power": 5}},
                [
                    ("Kitchen 5", Kind.PLUG, {"relay": 5}),
                    ("Kitchen shutter 1", Kind.AUTOMATION, {}),
                    ("Kitchen shutter 2", Kind.AUTOMATION, {"shutter": 2}),
                ],
            ),
            (
                tasmota_config([1, 1, 2]),
                {"ENERGY": {"Power": 5}},
                [
                    ("Kitchen sockets", Kind.MULTISOCKET, {"sockets": 2}),
                    ("Kitchen 3", Kind.LIGHT, {"relay": 3}),
                    ("Kitchen energy", Kind.ENERGYMETER, {}),
                ],
            ),
            (
                tasmota_config([1], ft="home/%topic%/%prefix%/", state=["AUS", "AN", "UM", "HALT"]),
                {},
                [("Kitchen", Kind.PLUG, {"fullTopic": "home/%topic%/%prefix%/", "states": ["AUS", "AN"]})],
            ),
            # Tasmota replaces these two words itself (its page "MQTT"). The announcement has the words and their values.
            (
                tasmota_config([1], ft="%hostname%/%prefix%/%topic%/%id%/", hn="kitchen-1234"),
                {},
                [("Kitchen", Kind.PLUG, {"fullTopic": "kitchen-1234/%prefix%/%topic%/E09806F17F56/"})],
            ),
            (
                tasmota_config([1], ft="%prefix%/%hostname%/", hn="kitchen-1234"),
                {},
                [("Kitchen", Kind.PLUG, {"fullTopic": "%prefix%/kitchen-1234/"})],
            ),
        ],
    )
    def test_a_device_becomes_modules(self, config: dict[str, Any], sensors: dict[str, Any], modules: list[Any]) -> None:
        recorder = {
            "tasmota/discovery/E09806F17F56/config": json.dumps(config).encode(),
            "tasmota/discovery/E09806F17F56/sensors": json.dumps({"sn": sensors, "ver": 1}).encode(),
        }
        found, _ = find_modules(recorder)
        own = {"dialect": "tasmota", "topic": "tasmota_F17F56"}
        assert [(one.name, one.kind, one.options) for one in found] == [
            (name, kind, own | more) for name, kind, more in modules
        ]

    @pytest.mark.parametrize(("channels", "colors"), [(1, False), (2, False), (3, True), (4, True), (5, True)])
    def test_a_light_of_one_or_two_channels_has_no_colors(self, channels: int, colors: bool) -> None:
        config = json.dumps(tasmota_config([2], lt_st=channels)).encode()
        (found,), _ = find_modules({"tasmota/discovery/E09806F17F56/config": config})
        assert ("colorHSV" in shown_hardware(found)[1]) == colors

    def test_a_light_without_channels_is_only_switched(self) -> None:
        config = json.dumps(tasmota_config([2], lt_st=0)).encode()  # the lamp of a fan (iFan03)
        (found,), _ = find_modules({"tasmota/discovery/E09806F17F56/config": config})
        assert shown_hardware(found) == ("Relay", ["status"])

    @pytest.mark.parametrize(
        ("config", "modules"),
        [
            (
                tasmota_config([1, 2, 2], lt_st=4, lk=0),
                [({"relay": 2, "part": "color"}, True), ({"relay": 3, "part": "white"}, False)],
            ),
            (
                tasmota_config([2, 2], lt_st=2, lk=1, so={"68": 1}),
                [({"part": "channel"}, False), ({"relay": 2, "part": "channel"}, False)],
            ),
            (tasmota_config([2], lt_st=5, lk=1), [({}, True)]),
        ],
    )
    def test_the_parts_of_a_lamp_are_several_modules(self, config: dict[str, Any], modules: list[Any]) -> None:
        found, _ = find_modules({"tasmota/discovery/E09806F17F56/config": json.dumps(config).encode()})
        own = {"dialect": "tasmota", "topic": "tasmota_F17F56"}
        lights = [one for one in found if one.kind is Kind.LIGHT]
        assert [(one.options, "colorHSV" in shown_hardware(one)[1]) for one in lights] == [
            (own | more, colors) for more, colors in modules
        ]

    def test_what_is_no_module_is_passed_over_with_the_reason(self) -> None:
        recorder = {
            "tasmota/discovery/A/config": json.dumps(tasmota_config([])).encode(),
            "tasmota/discovery/B/config": json.dumps(tasmota_config([2], so={"4": 1})).encode(),
            "tasmota/discovery/C/config": b"{}",
            "tasmota/discovery/D/config": b"",
            "zigbee2mqtt/bridge/devices": b"\xff",
        }
        found, passed = find_modules(recorder)
        assert not found
        assert [one.why.split(";")[0][:35] for one in passed] == [
            "it has no relay, light, shutter or ",
            "its SetOption4 is on, so it answers",
            "the announcement cannot be read: a ",
            "the announcement cannot be read: it",
        ]


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["friendly_name", "definition", "exposes", "type", "features", "endpoint", "name", "t", "mac", "rl", "fn", "tp"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


class TestAnything:
    @given(ANY, ANY)
    def test_any_announcement_is_read_or_unreadable(self, said: Any, sensors: Any) -> None:
        with suppress(Unreadable):
            list(from_zigbee2mqtt("base", [said]))
        with suppress(Unreadable):
            list(from_tasmota(said, sensors))

    @given(st.binary(max_size=50))
    def test_any_bytes(self, payload: bytes) -> None:
        find_modules(
            {"a/bridge/devices": payload, "tasmota/discovery/A/config": payload, "tasmota/discovery/A/sensors": payload}
        )
