"""Modules that speak a dialect, made of options as an estate has them."""

import json
from typing import Any

from domogate.domain.commands import Command
from domogate.domain.devices import DeviceKind as Kind
from domogate.drivers.mqtt.facts import Speech
from domogate.drivers.mqtt.kinds import wish
from domogate.drivers.mqtt.options import find_option_problems, read_options


def speak(kind: Kind, **options: Any) -> Speech:
    assert not list(find_option_problems(kind, options))
    return read_options(options).speech_for(kind)


def zigbee(kind: Kind, **options: Any) -> Speech:
    return speak(kind, dialect="zigbee2mqtt", **({"name": "it"} | options))


def tasmo(kind: Kind, **options: Any) -> Speech:
    return speak(kind, dialect="tasmota", topic="it", **options)


def said(speech: Speech, kind: Kind, command: Command) -> list[tuple[str, Any]]:
    spoken = [(one.topic, one.payload.decode()) for one in speech.say(wish(kind, command, speech.always))]
    return [(topic, json.loads(text) if text.startswith("{") else text) for topic, text in spoken]
