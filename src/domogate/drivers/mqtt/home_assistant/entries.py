"""Makes the entries of the tables `state` and `command` of the dialect `generic` from announced topics and templates."""

from collections.abc import Mapping
from typing import Any

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.drivers.mqtt.home_assistant.messages import Announcement
from domogate.drivers.mqtt.home_assistant.templates import Untranslatable, read_command_template, read_value_template


class Translation(msgspec.Struct, frozen=True):
    """What the driver learns from an announcement about a module.

    `kind` is the kind of the module. `state` and `command` are tables of its options.
    """

    kind: DeviceKind
    state: dict[str, Any]
    command: dict[str, Any]
    hardware: dict[str, Any] = {}
    more: dict[str, Any] = {}
    """Further options of the module, such as `colorAs`."""


def read_source(
    said: Announcement,
    topic: str,
    template: str,
    *,
    scale: float = 1.0,
    offset: float = 0.0,
    words: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return an entry of the table `state` in the options of a module. Raises Untranslatable.

    `topic` and `template` are the names of two fields of the announcement: the topic and the template of a state. If the
    announcement has no such topic, the entry is empty. `words` has the meaning of each word that a payload can have. A number
    in a payload is multiplied by `scale`, then `offset` is added.
    """
    if not said.text(topic):
        return {}
    value = read_value_template(said.text(template))
    entry: dict[str, Any] = {"topic": said.text(topic), **({"path": value.path} if value.path else {})}
    if value.choice is not None:
        if words is None:
            raise Untranslatable(f"the template of {topic} chooses between words, but a number is expected")
        return entry | value.meanings(words)
    usual = {"scale": 1.0, "offset": 0.0, "map": None}
    return entry | unusual(usual, value.scale * scale, value.offset * scale + offset, words)


def read_target(
    said: Announcement,
    topic: str,
    template: str,
    *,
    scale: float = 1.0,
    offset: float = 0.0,
    words: dict[str, str] | None = None,
    name: str = "value",
) -> dict[str, Any]:
    """Return an entry of the table `command` in the options of a module. Raises Untranslatable.

    `topic` and `template` are the names of two fields of the announcement: the topic and the template of a command. If the
    announcement has no such topic, the entry is empty. In the template, the value has the name `value` or the name that the
    argument `name` gives. `words` has the word to send for each value. A number is multiplied by `scale`, then `offset` is
    added, then the template is applied.
    """
    if not said.text(topic):
        return {}
    command = read_command_template(said.text(template), ("value", name))
    if command.choice is not None and words is None:
        raise Untranslatable(f"the template of {topic} chooses between words, but a number is sent")
    usual = {"payload": "{value}", "scale": 1.0, "offset": 0.0, "map": None}
    sent = None if words is None else command.choose(words)
    values = (command.payload, command.scale * scale, command.scale * offset + command.offset, sent)
    return {"topic": said.text(topic)} | unusual(usual, *values)


def unusual(usual: Mapping[str, Any], *values: Any) -> dict[str, Any]:
    """Return the `values` that differ from their defaults, by name.

    `usual` has the name and the default of each value, in the same order as `values`.
    """
    return {name: value for (name, default), value in zip(usual.items(), values, strict=True) if value != default}


def known(**entries: dict[str, Any]) -> dict[str, Any]:
    """Return the entries that are not empty."""
    return {name: entry for name, entry in entries.items() if entry}


def meanings(words: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of `words`. If `True` or `False` is in `words`, the copy also has `true` or `false` with the same meaning.

    A template of Home Assistant writes `True` for a value that is `true` in the JSON of the payload. But the dialect `generic`
    reads this value as the word `true`.
    """
    return {**words, **{word.lower(): meaning for word, meaning in words.items() if word in ("True", "False")}}


def on_and_off(said: Announcement) -> tuple[dict[str, Any], dict[str, str]]:
    """Return two values of the option `map` for a component that is on or off.

    The first `map` is for the state: payload to True or False. The second `map` is for the command: true or false to payload.
    """
    on, off = said.text("payload_on", "ON"), said.text("payload_off", "OFF")
    heard = {said.text("state_on", on): True, said.text("state_off", off): False}
    return meanings(heard), {"true": on, "false": off}


def state_template(said: Announcement) -> str:
    """Return the name of the field that says how to read the state from a message. There are two names for this field."""
    return "state_value_template" if said.text("state_value_template") else "value_template"
