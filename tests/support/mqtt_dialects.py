"""Codecs of dialects, made from options as in an estate."""

import json
from typing import Any

from domogate.domain.commands import Command
from domogate.domain.devices import DeviceKind as Kind
from domogate.drivers.mqtt.kinds import properties_for
from domogate.drivers.mqtt.options import find_option_problems, read_options
from domogate.drivers.mqtt.properties import Codec


def speak(kind: Kind, **options: Any) -> Codec:
    assert not list(find_option_problems(kind, options))
    return read_options(options).codec_for(kind)


def zigbee(kind: Kind, **options: Any) -> Codec:
    return speak(kind, dialect="zigbee2mqtt", **({"name": "it"} | options))


def tasmo(kind: Kind, **options: Any) -> Codec:
    return speak(kind, dialect="tasmota", topic="it", **options)


def said(codec: Codec, kind: Kind, command: Command) -> list[tuple[str, Any]]:
    spoken = [(one.topic, one.payload.decode()) for one in codec.encode(properties_for(kind, command, codec.always))]
    return [(topic, json.loads(text) if text.startswith("{") else text) for topic, text in spoken]
