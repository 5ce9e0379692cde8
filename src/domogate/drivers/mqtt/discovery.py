"""Finds the devices that are announced at a broker, and describes them as modules for an estate file."""

import asyncio
import uuid
from collections.abc import Iterator, Mapping, Sequence

from domogate.common.log import get_logger
from domogate.domain.discovery import Discovery, DiscoveryFailed, FoundModule, SkippedDevice
from domogate.domain.ids import Id
from domogate.drivers.mqtt.announcements import Candidate, from_tasmota, from_zigbee2mqtt
from domogate.drivers.mqtt.broker import MqttBroker
from domogate.drivers.mqtt.broker_connection import ConnectionOptions, explain_error, open_connection
from domogate.drivers.mqtt.connection import BrokerRefused, Connection, ConnectionLost, Deliver
from domogate.drivers.mqtt.home_assistant import FILTERS, PREFIX, find_candidates
from domogate.drivers.mqtt.options import find_option_problems
from domogate.drivers.mqtt.packets import FAILURE, words_for
from domogate.drivers.mqtt.payloads import Unreadable, read_json

_log = get_logger(__name__)

_LARGEST_ANNOUNCEMENT = 32 * 1024 * 1024
"""In bytes. Larger messages are skipped. One message of Zigbee2MQTT lists all its devices, with some kilobytes for each."""
_MOST_TOPICS = 20_000
_MOST_BYTES = 64 * 1024 * 1024
"""In bytes. An announcement is ignored if all announcements together would be larger than this."""
_NAMESPACE = uuid.UUID("5a3e6f0c-8d0b-4b53-9a0a-2f6c8b0d7f11")
_DEVICES, _CONFIG = "/bridge/devices", "/config"
_ANNOUNCED = (f"+{_DEVICES}", f"tasmota/discovery/+{_CONFIG}", "tasmota/discovery/+/sensors")
_LONGEST_NAME = 50
_NO_BROKER = (
    "No MQTT broker is set. Set it in the console, on the page Drivers. Or add the lines `[[mqtt_brokers]]` and"
    ' `url = "mqtt://127.0.0.1:1883"` to the file domogate.toml, and use the flag `--config domogate.toml`.'
)
FAILURES = (BrokerRefused, ConnectionLost, OSError, TimeoutError, UnicodeError)
"""The exceptions that mean that a broker cannot be used."""


def choose_broker(known: Sequence[MqttBroker], name: str | None) -> MqttBroker:
    """Return the broker with this name, or the only broker if `name` is None.

    Raises ValueError if there is no such broker, or if there are several brokers and no name. The error names the brokers.
    """
    named = ", ".join(one.name for one in known)
    if not known:
        raise ValueError("No MQTT broker is set")
    if name is None and len(known) > 1:
        raise ValueError(f"there are several MQTT brokers ({named})")
    for one in known:
        if name in (None, one.name):
            return one
    raise ValueError(f"there is no MQTT broker {name!r} in the settings; there are {named}")


async def discover(brokers: Sequence[MqttBroker], name: str | None, seconds: float, base: str | None) -> Discovery:
    """Listen for `seconds` seconds, and return the devices that are announced at the broker `name`.

    If `name` is None, there must be only one broker. A Zigbee2MQTT whose base topic has a slash is found only if `base` is this
    base topic. Raises DiscoveryFailed if the settings have no such broker, or if the broker cannot be used. If the connection
    is lost before `seconds` have passed, return what was announced until then.
    """
    if not brokers:
        raise DiscoveryFailed(_NO_BROKER)
    try:
        chosen = choose_broker(brokers, name)
    except ValueError as wrong:
        raise DiscoveryFailed(f"{wrong}.") from None
    try:
        received = await collect_announcements(chosen, seconds, base)
    except FAILURES as error:
        problem = f"The broker at {chosen.host}:{chosen.port} cannot be used: {explain_error(error)}."
        check = "the user name and the password" if isinstance(error, BrokerRefused) else "the address and the port"
        raise DiscoveryFailed(f"{problem} Check {check}.") from None
    # On a thread: a broker can hold thousands of announcements.
    return Discovery(*await asyncio.to_thread(find_modules, received, chosen.name if len(brokers) > 1 else None))


async def collect_announcements(broker: MqttBroker, seconds: float, base: str | None = None) -> dict[str, bytes]:
    """Collect announcements for `seconds` seconds: retained messages, and messages that arrive in this time.

    Return the payloads by topic. A Zigbee2MQTT whose base topic has a slash is found only if `base` is this base topic. If the
    connection is lost before `seconds` have passed, return what was collected until then.

    Raises BrokerRefused, ConnectionLost, OSError or TimeoutError if the broker cannot be used. Raises OSError or UnicodeError
    if the password file cannot be read.
    """
    received: dict[str, bytes] = {}
    size = 0

    def take(topic: bytes, payload: bytes) -> None:
        nonlocal size
        name = topic.decode(errors="replace")
        before = received.get(name)
        growth = len(payload) - len(before) if before is not None else len(topic) + len(payload)
        if (before is not None or len(received) < _MOST_TOPICS) and size + growth <= _MOST_BYTES:
            received[name] = payload
            size += growth

    connection = await _connect(broker, take)
    try:
        filters = [(topic, 0) for topic in (*_ANNOUNCED, *((f"{base}{_DEVICES}",) if base else ()), *FILTERS)]
        for (topic, _), reason in zip(filters, await connection.subscribe(filters), strict=True):
            if reason >= FAILURE and topic in FILTERS:
                _log.warning("broker refused a topic of discovery", broker=broker.name, topic=topic, answer=words_for(reason))
            elif reason >= FAILURE:
                raise PermissionError(f"the broker does not let the gateway subscribe to {topic}: {words_for(reason)}")
        await asyncio.wait((connection.lost,), timeout=seconds)
    finally:
        connection.close()
    return received


async def try_connection(broker: MqttBroker) -> None:
    """Connect, log in and disconnect.

    Raises BrokerRefused, ConnectionLost, OSError or TimeoutError if this fails. Raises OSError or UnicodeError if the password
    file cannot be read.
    """
    (await _connect(broker, lambda _topic, _payload: None)).close()


async def _connect(broker: MqttBroker, deliver: Deliver) -> Connection:
    name = f"domogate-discover-{uuid.uuid4().hex[:8]}"
    return await open_connection(broker, name, ConnectionOptions(deliver, largest_packet=_LARGEST_ANNOUNCEMENT))


def find_modules(received: Mapping[str, bytes], broker: str | None = None) -> tuple[list[FoundModule], list[SkippedDevice]]:
    """Return the modules in the announcements, and the devices that cannot become modules.

    `received` has the payloads of the announcements, by topic. `broker` is the name of the broker, which becomes an option of
    the modules. If `broker` is None, the modules do not get this option.
    """
    found: list[FoundModule] = []
    skipped: list[SkippedDevice] = []
    for candidate in _every_candidate(received):
        options = {**candidate.options, **({} if broker is None else {"broker": broker})}
        problem = candidate.why or next((words for _, words in find_option_problems(candidate.kind, options)), "")
        if problem:
            skipped.append(SkippedDevice(candidate.name, problem))
        else:
            identity = Id(str(uuid.uuid5(_NAMESPACE, candidate.key)))
            name = candidate.name[:_LONGEST_NAME]
            found.append(FoundModule(identity, name, candidate.kind, options, candidate.about, candidate.hardware))
    return found, skipped


def _every_candidate(received: Mapping[str, bytes]) -> Iterator[Candidate]:
    # An empty message deletes the announcement that the broker had.
    announced = {topic: payload for topic, payload in sorted(received.items()) if payload}
    of_home_assistant = {topic: payload for topic, payload in announced.items() if topic.startswith(PREFIX)}
    for topic, payload in announced.items():
        if topic in of_home_assistant:
            continue
        try:
            if topic.endswith(_DEVICES):
                yield from list(from_zigbee2mqtt(topic.removesuffix(_DEVICES), read_json(payload)))
            elif topic.endswith(_CONFIG):
                sensors = received.get(f"{topic.removesuffix(_CONFIG)}/sensors")
                yield from list(from_tasmota(read_json(payload), read_json(sensors) if sensors else None))
        except Unreadable as unreadable:
            yield Candidate(topic, topic, why=f"the announcement cannot be read: {unreadable}")
    bases = [topic.removesuffix(_DEVICES) for topic in announced if topic.endswith(_DEVICES)]
    yield from find_candidates(of_home_assistant, bases)
