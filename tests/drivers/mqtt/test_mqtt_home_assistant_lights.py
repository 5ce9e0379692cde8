"""Modules that are made from lights of Home Assistant: switched, with levels, and with colours of all modes."""

import json
from typing import Any

import pytest

from domogate.domain.commands import SetLight
from domogate.domain.devices import DeviceKind as Kind
from domogate.domain.states import Color
from support.mqtt_dialects import messages_of
from support.mqtt_home_assistant import LIGHT, announced, codec_of, found_in

DIMMED = LIGHT | {"brightness_command_topic": "l/dim/set", "brightness_state_topic": "l/dim"}


class TestLights:
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
            ({"schema": "json", "supported_color_modes": ["color_temp"]}, ["status", "level"]),
        ],
    )
    def test_a_light_shows_only_what_it_can_do(self, more: dict[str, Any], metrics: list[str]) -> None:
        found = found_in(announced("light", LIGHT | more))
        assert [one["label"] for one in found.hardware["metrics"]] == metrics

    @pytest.mark.parametrize(
        ("mode", "said", "sent"),
        [
            ("rgb", b"0,255,0", "255,128,0"),
            ("rgbw", b"0,200,0,0", "255,128,0,0"),
            ("rgbww", b"0,90,0,0,0", "255,128,0,0,0"),
            ("xy", b"0.3,0.6", "0.5436,0.4066"),
        ],
    )
    def test_a_light_with_other_colors(self, mode: str, said: bytes, sent: str) -> None:
        codec = codec_of("light", DIMMED | {f"{mode}_cmd_t": "l/c/set", f"{mode}_stat_t": "l/c"})
        heard = codec.decode("l/c", said)
        assert heard["hue"] == pytest.approx(120, abs=8)
        assert heard["saturation"] == pytest.approx(100, abs=2)
        assert codec.decode("l/c", b"1") == codec.decode("l/c", b"0,0,0") == codec.decode("l/c", b"a,b,c") == {}
        assert ("l/c/set", sent) in messages_of(codec, Kind.LIGHT, SetLight(color=Color(30, 100, 80)))

    def test_a_white_channel_makes_a_color_paler(self) -> None:
        codec = codec_of("light", LIGHT | {"rgbw_cmd_t": "l/c/set", "rgbw_stat_t": "l/c"})
        assert codec.decode("l/c", b"100,0,0,100") == {"hue": 0.0, "saturation": 50.0}

    @pytest.mark.parametrize(
        ("mode", "color", "sent"),
        [
            ("rgb", {"r": 255, "g": 0, "b": 0}, {"r": 255, "g": 128, "b": 0}),
            ("rgbw", {"r": 9, "g": 0, "b": 0, "w": 0}, {"r": 255, "g": 128, "b": 0, "w": 0}),
            ("rgbww", {"r": 9, "g": 0, "b": 0, "c": 0, "w": 0}, {"r": 255, "g": 128, "b": 0, "c": 0, "w": 0}),
            ("xy", {"x": 0.64, "y": 0.33}, {"x": 0.5436, "y": 0.4066}),
        ],
    )
    def test_a_light_with_other_colors_in_json(self, mode: str, color: dict[str, Any], sent: dict[str, Any]) -> None:
        codec = codec_of("light", LIGHT | {"schema": "json", "sup_clrm": [mode, "color_temp"]})
        heard = codec.decode("l", json.dumps({"state": "ON", "color": color}).encode())
        assert heard["saturation"] == pytest.approx(100, abs=1)
        assert ("l/set", {"state": "ON", "color": sent}) in messages_of(codec, Kind.LIGHT, SetLight(color=Color(30, 100, 80)))

    def test_a_light_with_a_template_for_its_color(self) -> None:
        template = "{{ red }};{{ green | int }};{{ blue }}"
        codec = codec_of("light", DIMMED | {"rgb_cmd_t": "c", "rgb_stat_t": "l/c", "rgb_cmd_tpl": template})
        assert ("c", "255;0;0") in messages_of(codec, Kind.LIGHT, SetLight(color=Color(0, 100, 80)))

    def test_a_light_of_the_schema_template_with_constant_commands(self) -> None:
        own = {"schema": "template", "cmd_on_tpl": "on!", "cmd_off_tpl": "off!", "stat_tpl": "{{ value_json.s }}"}
        codec = codec_of("light", LIGHT | own)
        assert codec.decode("l", b'{"s": "on"}') == {"on": True}
        assert messages_of(codec, Kind.LIGHT, SetLight(on=False)) == [("l/set", "off!")]
