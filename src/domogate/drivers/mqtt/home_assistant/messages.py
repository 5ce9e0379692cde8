"""Reads announcements, and yields the parts of a device.

Abbreviated names are written in full, and `~` in topics is replaced by the base topic.
"""

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from domogate.domain.bridges import BRIDGE_NODE
from domogate.drivers.mqtt.payloads import Unreadable, as_number, read_object

_LARGEST_MESSAGE = 256 * 1024
_LONGEST_TOPIC = 300
_MOST_PARTS = 500
_MOST_FIELDS = 200
"""The largest number of fields of a device, and of a part. Each part gets a copy of the fields of its device."""
_MOST_LISTED = 20
_LONGEST_NAME = 100
_BASE = "~"

_WORDS = MappingProxyType(
    {
        "act": "action",
        "avty": "availability",
        "bri": "brightness",
        "cla": "class",
        "clrm": "color_modes",
        "cls": "close",
        "clsd": "closed",
        "cmd": "command",
        "curr": "current",
        "dev": "device",
        "ent": "entity",
        "cat": "category",
        "hum": "humidity",
        "meas": "measurement",
        "pl": "payload",
        "pos": "position",
        "prs": "press",
        "scl": "scale",
        "stat": "state",
        "sup": "supported",
        "t": "topic",
        "temp": "temperature",
        "tpl": "template",
        "uniq": "unique",
        "unlk": "unlock",
        "val": "value",
        "avail": "available",
    }
)
"""The abbreviated words. Almost every abbreviation is a sequence of them: `bri_cmd_t` is `brightness_command_topic`."""
_NAMES = MappingProxyType(
    {
        "cmps": "components",
        "p": "platform",
        "en": "enabled_by_default",
        "ids": "identifiers",
        "cns": "connections",
        "mf": "manufacturer",
        "mdl": "model",
        "pos": "reports_position",
    }
)
"""The abbreviations that are not a sequence of the words in `_WORDS`."""


class Announcement(msgspec.Struct, frozen=True):
    """The announcement of one part of a device, such as a lamp.

    `config` has the fields of the announcement. Abbreviated names are replaced by full names, and `~` by the base topic.
    """

    component: str
    key: str
    name: str
    config: Mapping[str, Any]
    device: str
    """A text that identifies the device of this part. All parts of one device have the same text."""
    device_name: str
    about: str

    def text(self, name: str, default: str = "") -> str:
        """Return the value of the field `name` as text. Return `default` for a missing field, null, a list or an object."""
        value = self.config.get(name)
        return str(value) if isinstance(value, str | int | float) else default

    def number(self, name: str, default: float) -> float:
        number = as_number(self.config.get(name))
        return default if number is None else number

    def words(self, name: str, default: Collection[str] = ()) -> Collection[str]:
        """Return the texts in the list in the field `name`, or `default` if there is no list. At most 20 items are read."""
        value = self.config.get(name)
        return {one for one in value[:_MOST_LISTED] if isinstance(one, str)} if isinstance(value, list) else default


def read_announcements(topic: str, payload: bytes) -> Iterator[Announcement]:
    """Yield the parts of a device that one message announces. Raises Unreadable if the message cannot be used.

    Yield nothing for the announcement of a bridge of Domogate. Its modules must not be found as new devices (Decision 0122).
    """
    if len(payload) > _LARGEST_MESSAGE:
        raise Unreadable(f"it has more than {_LARGEST_MESSAGE // 1024} KiB")
    if topic.count("/") not in (3, 4) or len(topic) > _LONGEST_TOPIC:
        raise Unreadable("its topic is not the topic of an announcement")
    _, component, *ids, _ = topic.split("/")
    if ids[0].startswith(BRIDGE_NODE):
        return
    config = _with_full_names(read_object(payload))
    if component != "device":
        yield _announcement(component, "/".join(ids), config)
        return
    parts = config.pop("components", None)
    if not isinstance(parts, dict):
        raise Unreadable("a device with components is expected")
    if len(parts) > _MOST_PARTS:
        raise Unreadable(f"it has more than {_MOST_PARTS} components")
    for part, own in parts.items():
        full = _with_full_names(own) if isinstance(own, dict) else {}
        # A part that has only its platform was removed from the device.
        if isinstance(full.get("platform"), str) and len(full) > 1:
            yield _announcement(full["platform"][:_LONGEST_NAME], f"{'/'.join(ids)}/{part[:_LONGEST_NAME]}", {**config, **full})


def _announcement(component: str, identity: str, config: dict[str, Any]) -> Announcement:
    device = _with_full_names(config["device"]) if isinstance(config.get("device"), dict) else {}
    base = config.get(_BASE)
    if isinstance(base, str):
        config = _with_base(config, base)
    config["availability"] = [
        _with_base(_with_full_names(one), base if isinstance(base, str) else _BASE)
        for one in _as_list(config.get("availability"))
        if isinstance(one, dict)
    ]
    device_name, own_name = (_as_name(of.get("name")) for of in (device, config))
    named = own_name if own_name.startswith(device_name) else f"{device_name} {own_name}".strip()
    ids = sorted(str(one)[:_LONGEST_NAME] for one in _as_list(device.get("identifiers") or device.get("connections")))
    unique = config.get("unique_id")
    return Announcement(
        component,
        f"homeassistant:{component}:{str(unique)[:_LONGEST_TOPIC] if unique and isinstance(unique, str | int) else identity}",
        named or device_name or identity[:_LONGEST_NAME],
        config,
        str(ids or identity),
        device_name or named or identity[:_LONGEST_NAME],
        " ".join(filter(None, (_as_name(device.get("manufacturer")), _as_name(device.get("model"))))),
    )


def _with_full_names(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields with full names instead of abbreviations. Raises Unreadable if there are too many fields."""
    if len(config) > _MOST_FIELDS:
        raise Unreadable(f"an object has more than {_MOST_FIELDS} fields")
    return {_full_name(name): value for name, value in config.items()}


def _full_name(name: str) -> str:
    return _NAMES.get(name) or "_".join(_WORDS.get(word, word) for word in name.split("_"))


def _with_base(config: Mapping[str, Any], base: str) -> dict[str, Any]:
    """Return the config with the base topic instead of `~` at the beginning or the end of topics."""
    whole = dict(config)
    for name, value in config.items():
        if name.endswith("topic") and isinstance(value, str):
            if value.startswith(_BASE):
                whole[name] = f"{base}{value.removeprefix(_BASE)}"
            elif value.endswith(_BASE):
                whole[name] = f"{value.removesuffix(_BASE)}{base}"
    return whole


def _as_name(value: object) -> str:
    return " ".join(value.split())[:_LONGEST_NAME] if isinstance(value, str) else ""


def _as_list(value: object) -> list[Any]:
    """Return the list, cut after `_MOST_LISTED` items. A single value becomes a list with one item, None an empty list."""
    return value[:_MOST_LISTED] if isinstance(value, list) else [] if value is None else [value]
