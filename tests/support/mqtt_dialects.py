"""Codecs of dialects, made from options as in an estate."""

import json
from typing import Any

from domogate.domain.commands import Command, SetLight
from domogate.domain.devices import DeviceKind as Kind
from domogate.domain.states import LightState
from domogate.drivers.mqtt.kinds import properties_for
from domogate.drivers.mqtt.lights import light_properties
from domogate.drivers.mqtt.options import find_option_problems, read_options
from domogate.drivers.mqtt.properties import Codec, Properties


def make_codec(kind: Kind, **options: Any) -> Codec:
    assert not list(find_option_problems(kind, options))
    return read_options(options).codec_for(kind)


def zigbee_codec(kind: Kind, **options: Any) -> Codec:
    return make_codec(kind, dialect="zigbee2mqtt", **({"name": "it"} | options))


def tasmota_codec(kind: Kind, **options: Any) -> Codec:
    return make_codec(kind, dialect="tasmota", topic="it", **options)


def messages_of(codec: Codec, kind: Kind, command: Command) -> list[tuple[str, Any]]:
    wanted = wanted_light(command) if isinstance(command, SetLight) else properties_for(kind, command, codec.always)
    spoken = [(one.topic, one.payload.decode()) for one in codec.encode(wanted)]
    return [(topic, json.loads(text) if text.startswith("{") else text) for topic, text in spoken]


def wanted_light(command: SetLight) -> Properties:
    """Of a light that is on."""
    return light_properties(command, LightState(on=True, level=30))
