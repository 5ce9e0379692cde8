"""What a broker announces, as modules that an estate can take up."""

import asyncio
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.domain.ids import Id
from domogate.drivers.mqtt.announcements import Draft, of_tasmota, of_zigbee2mqtt
from domogate.drivers.mqtt.broker import MqttBroker
from domogate.drivers.mqtt.connection import BrokerRefused, Connection
from domogate.drivers.mqtt.facts import Unreadable, read_json
from domogate.drivers.mqtt.link import open_connection
from domogate.drivers.mqtt.options import find_option_problems
from domogate.drivers.mqtt.packets import FAILURE, V5, V311, words_for

_LARGEST_ANNOUNCEMENT = 32 * 1024 * 1024
"""The list of devices is one message, some kilobytes for each device."""
_MOST_TOPICS = 20_000
_NAMESPACE = uuid.UUID("5a3e6f0c-8d0b-4b53-9a0a-2f6c8b0d7f11")
_DEVICES, _CONFIG = "/bridge/devices", "/config"
_ANNOUNCED = (f"+{_DEVICES}", f"tasmota/discovery/+{_CONFIG}", "tasmota/discovery/+/sensors")
_LONGEST_NAME = 50
_UNSUPPORTED_VERSION = 0x84


class Found(msgspec.Struct, frozen=True):
    """A module to accept. Its id follows from the device: found again, it has the same."""

    id: Id
    name: str
    kind: DeviceKind
    options: dict[str, Any]
    about: str = ""
    """What the device calls itself, for whoever decides."""


class PassedOver(msgspec.Struct, frozen=True):
    """Something that was announced and is no module here, and why."""

    name: str
    why: str


async def listen(broker: MqttBroker, seconds: float, base: str | None = None) -> dict[str, bytes]:
    """What is announced now: retained messages, and those that come meanwhile.

    Raises BrokerRefused, ConnectionLost, OSError, TimeoutError, UnicodeError.
    """
    heard: dict[str, bytes] = {}

    def take(topic: bytes, payload: bytes) -> None:
        if len(heard) < _MOST_TOPICS:
            heard[topic.decode(errors="replace")] = payload

    async def connect(version: int) -> Connection:
        return await open_connection(
            broker, f"domogate-discover-{uuid.uuid4().hex[:8]}", version, take, largest_packet=_LARGEST_ANNOUNCEMENT
        )

    try:
        connection = await connect(V5)
    except BrokerRefused as refused:
        if refused.reason != _UNSUPPORTED_VERSION:
            raise
        connection = await connect(V311)
    try:
        filters = [(topic, 0) for topic in (*_ANNOUNCED, *((f"{base}{_DEVICES}",) if base else ()))]
        for (topic, _), reason in zip(filters, await connection.subscribe(filters), strict=True):
            if reason >= FAILURE:
                raise PermissionError(f"the broker does not let the gateway subscribe to {topic}: {words_for(reason)}")
        await asyncio.wait((connection.lost,), timeout=seconds)
    finally:
        connection.close()
    return heard


def find_modules(heard: Mapping[str, bytes], broker: str | None = None) -> tuple[list[Found], list[PassedOver]]:
    """What can be made of announcements. `broker`: its name, for options, where there are several."""
    found: list[Found] = []
    passed: list[PassedOver] = []
    for draft in _every_draft(heard):
        options = {**draft.options, **({} if broker is None else {"broker": broker})}
        problem = draft.why or next((words for _, words in find_option_problems(draft.kind, options)), "")
        if problem:
            passed.append(PassedOver(draft.name, problem))
        else:
            identity = Id(str(uuid.uuid5(_NAMESPACE, draft.key)))
            found.append(Found(identity, draft.name[:_LONGEST_NAME], draft.kind, options, draft.about))
    return found, passed


def _every_draft(heard: Mapping[str, bytes]) -> Iterator[Draft]:
    for topic, payload in sorted(heard.items()):
        if not payload:
            continue  # an announcement that was taken back
        try:
            if topic.endswith(_DEVICES):
                yield from list(of_zigbee2mqtt(topic.removesuffix(_DEVICES), read_json(payload)))
            elif topic.endswith(_CONFIG):
                sensors = heard.get(f"{topic.removesuffix(_CONFIG)}/sensors")
                yield from list(of_tasmota(read_json(payload), read_json(sensors) if sensors else None))
        except Unreadable as unreadable:
            yield Draft(topic, topic, why=f"the announcement cannot be read: {unreadable}")
