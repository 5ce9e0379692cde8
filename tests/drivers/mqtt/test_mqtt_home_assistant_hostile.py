"""Hostile announcements for Home Assistant are refused or bounded: size, depth, count, unknown fields, templates."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domogate.drivers.mqtt.discovery import find_modules
from domogate.drivers.mqtt.home_assistant.components import TRANSLATIONS
from domogate.drivers.mqtt.home_assistant.messages import read_announcements
from domogate.drivers.mqtt.options import find_option_problems
from domogate.drivers.mqtt.payloads import Unreadable
from support.mqtt_dialects import make_codec
from support.mqtt_home_assistant import DEVICE, SWITCH, announced, reason_of

WORDS = (
    "~ dev cmps avty cmd_t stat_t val_tpl p ids name modes pos_t pos_open schema t bri_scl bri_cmd_t bri_stat_t temp_stat_t"
    " temp_cmd_t mode_stat_t mode_cmd_t unit_of_meas sup_clrm uniq_id pl_on avty_t cmd_tpl rgb_cmd_t rgb_stat_t rgb_cmd_tpl"
    " xy_cmd_t hs_stat_t rgbw_cmd_t reports_position dev_cla ent_cat set_pos_t set_pos_tpl cmd_on_tpl cmd_off_tpl stat_tpl x"
)
NAMES = st.sampled_from(WORDS.split())
SCALARS = st.none() | st.booleans() | st.integers() | st.floats()
TEXTS = [
    *("x", "~/x", "light", "json", "template", "W", "°C", "heat", "cool", "off", "rgb", "battery", "temperature", "F", ""),
    *("{{ value }}", "{{ value_json.a / 10 }}", "{{ 'ON' if value_json.a else 'OFF' }}", "{{ red }},{{ green }},{{ blue }}"),
    *("{% if value == 'ON' %}1{% else %}0{% endif %}", "{{ value_json" + "[0]" * 200 + " }}", "{{ {{ }}", "a" * 70_000),
]
ANY = st.recursive(
    SCALARS | st.sampled_from(TEXTS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=8,
)
CONFIGS = st.dictionaries(NAMES, ANY, max_size=12)
SENT = st.binary(max_size=40) | st.sampled_from(
    [b"ON", b"12", b"1,2,3", b'{"a": {"r": 1}, "state": "ON", "color": [1]}', b"[" * 99]
)


class TestHostileAnnouncements:
    @given(
        st.sampled_from([*TRANSLATIONS, "sensor", "event", "device", "x"]),
        CONFIGS | st.dictionaries(st.just("cmps"), st.dictionaries(st.text(max_size=3), CONFIGS, max_size=4), min_size=1),
        SENT,
    )
    def test_any_announcement_gives_modules_without_problems(self, component: str, config: dict[str, Any], sent: bytes) -> None:
        found, skipped = find_modules(announced(component, config))
        for one in found:
            assert not list(find_option_problems(one.kind, one.options))
            codec = make_codec(one.kind, **one.options)
            for topic in codec.topics:
                with suppress(Unreadable):
                    codec.decode(topic, sent)
        assert all(len(one.why) < 1000 and len(one.name) <= 100 for one in skipped)

    @given(st.binary(max_size=60), st.sampled_from(["a/b/config", "config", "device/a/b/config", "a/b/c/d/e/config"]))
    def test_any_bytes(self, payload: bytes, topic: str) -> None:
        find_modules({f"homeassistant/{topic}": payload})

    @pytest.mark.parametrize(
        ("payload", "why"),
        [
            (b'{"name": "' + b"x" * 300_000 + b'"}', "more than 256 KiB"),
            (b'{"a":' * 40_000, "not JSON"),
            (b'{"a":' * 20_000 + b"1" + b"}" * 20_000, "not JSON"),
            (json.dumps({f"unknown{number}": 1 for number in range(201)}).encode(), "more than 200 fields"),
            (json.dumps({"cmps": {str(number): {} for number in range(501)}}).encode(), "more than 500 components"),
            (json.dumps({"cmps": {"a": {f"x{number}": 1 for number in range(201)}}}).encode(), "more than 200 fields"),
            (b"[]", "not a JSON object"),
        ],
    )
    def test_what_is_too_large_or_too_deep_is_refused(self, payload: bytes, why: str) -> None:
        assert why in reason_of({"homeassistant/device/x/config": payload})

    def test_a_topic_that_is_too_long_is_refused(self) -> None:
        _, (skipped,) = find_modules({f"homeassistant/switch/{'x' * 60_000}/config": b"{}"})
        assert "topic of an announcement" in skipped.why
        assert len(skipped.name) <= 100

    def test_a_small_message_does_not_become_large(self) -> None:
        """Every part has the fields of its device, so a message could grow with the product of both."""
        lists = {"ids": list(range(20_000)), "name": "x" * 20_000}
        shared = {f"f{number}": "x" for number in range(150)} | {"avty": [{"t": "a"}] * 4_000, "dev": lists}
        parts = {str(number): {"p": "switch", "cmd_t": "x"} for number in range(500)}
        payload = json.dumps({**shared, "cmps": parts}).encode()
        assert len(payload) < 256 * 1024
        said = list(read_announcements("homeassistant/device/x/config", payload))
        assert len(said) == 500
        assert max(len(one.config) for one in said) <= 400
        assert max(len(one.config["availability"]) for one in said) <= 20
        assert max(len(one.device) + len(one.name) + len(one.key) for one in said) < 3_000

    def test_all_announcements_together_have_a_limit(self) -> None:
        parts = {str(number): {"p": "sensor", "stat_t": "x"} for number in range(500)}
        payload = json.dumps({"dev": DEVICE, "cmps": parts}).encode()
        _, skipped = find_modules({f"homeassistant/device/{number}/config": payload for number in range(12)})
        assert [one.why for one in skipped if "more than 5000 parts" in one.why]

    def test_the_parts_without_a_kind_are_logged_once_for_a_search(self, caplog: pytest.LogCaptureFixture) -> None:
        received = announced("switch", SWITCH)
        for number in range(30):
            config = {"stat_t": "m", "dev": DEVICE, "dev_cla": "motion" if number else "x" * 500}
            received |= announced("binary_sensor", config, f"m{number}")
        received |= announced("sensor", {"stat_t": "r", "dev": DEVICE, "ent_cat": "diagnostic"}, "r")
        with caplog.at_level("INFO"):
            find_modules(received)
        (line,) = caplog.records
        assert line.__dict__["values"] == {"parts": {"motion": 29, "x" * 40: 1}, "total": 30}
