"""Announcements for Home Assistant, and the modules that are found in them."""

import json
from typing import Any

from domogate.domain.discovery import FoundModule
from domogate.drivers.mqtt.discovery import find_modules
from domogate.drivers.mqtt.options import find_option_problems
from domogate.drivers.mqtt.properties import Codec
from support.mqtt_dialects import make_codec

DEVICE = {"ids": ["0AFFD2"], "name": "Kitchen", "mf": "Bla", "mdl": "xyz"}


def announced(component: str, config: dict[str, Any], name: str = "one") -> dict[str, bytes]:
    return {f"homeassistant/{component}/{name}/config": json.dumps(config).encode()}


def found_in(received: dict[str, bytes]) -> FoundModule:
    (found,), skipped = find_modules(received)
    assert not skipped
    assert not list(find_option_problems(found.kind, found.options))
    return found


def reason_of(received: dict[str, bytes]) -> str:
    found, (skipped,) = find_modules(received)
    assert not found
    return skipped.why


def codec_of(component: str, config: dict[str, Any]) -> Codec:
    found = found_in(announced(component, config))
    return make_codec(found.kind, **found.options)


SWITCH = {"~": "home/switch", "name": None, "uniq_id": "s1", "cmd_t": "~/set", "stat_t": "~/state", "dev": DEVICE}
LIGHT = {"command_topic": "l/set", "state_topic": "l", "unique_id": "l1", "name": "Lamp"}
COVER = {"command_topic": "c/set", "position_topic": "c/pos", "name": "Blind"}
CLIMATE = {
    "name": "Hall",
    "temp_cmd_t": "t/set",
    "temp_stat_t": "t",
    "temp_stat_tpl": "{{ value_json.target }}",
    "curr_temp_t": "t",
    "curr_temp_tpl": "{{ value_json.is }}",
    "mode_cmd_t": "t/mode/set",
    "mode_stat_t": "t",
    "mode_stat_tpl": "{{ value_json.mode }}",
    "act_t": "t",
    "act_tpl": "{{ value_json.action }}",
    "modes": ["off", "heat", "auto"],
}
