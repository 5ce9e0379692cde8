"""Events of the gateway: as the event stream sends them, and as webhooks deliver them (CloudEvents 1.0)."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from domogate_client._malformed import MALFORMED
from domogate_client.errors import UnexpectedAnswer
from domogate_client.models.events import ModuleData, PlantData, Ready, Reset

T = TypeVar("T")

_OF_MODULES = frozenset({"state", "reachability", "safety", "present"})
_OF_PLANTS = frozenset({"plant", "people"})
_PREFIX = "domogate."
_LONGEST = 4_000_000
_LONGEST_RETRY = 10
_FIELDS = frozenset({b"event", b"id"})


class CloudEvent(msgspec.Struct, frozen=True, kw_only=True):
    """The attributes of every event. Two events with the same `source` and `id` are duplicates."""

    id: str
    source: str
    type: str
    subject: str
    time: str
    specversion: str = "1.0"
    datacontenttype: str = "application/json"

    @property
    def kind(self) -> str:
        """The kind of the event: `state`, `reachability`, `safety`, `present`, `plant`, `people`, or a new kind."""
        return self.type.removeprefix(_PREFIX)


class ModuleEvent(CloudEvent, frozen=True, kw_only=True):
    """The state of a module: `state`, `reachability`, `safety` or `present`."""

    data: ModuleData


class PlantEvent(CloudEvent, frozen=True, kw_only=True):
    """A plant or its people changed: `plant` or `people`. Read the plant again."""

    data: PlantData


class OtherEvent(CloudEvent, frozen=True, kw_only=True):
    """The test of a webhook (`test`). Or an event of a kind that this version of the client does not know."""

    data: Any = None


Event = ModuleEvent | PlantEvent | OtherEvent
StreamItem = Event | Ready | Reset
"""The items of an event stream: events; `Ready` (all later events are about changes after its cursor); `Reset` (missed events
cannot be sent).
"""

_decode_envelope = msgspec.json.Decoder(CloudEvent).decode
_decode_module = msgspec.json.Decoder(ModuleEvent).decode
_decode_plant = msgspec.json.Decoder(PlantEvent).decode
_decode_other = msgspec.json.Decoder(OtherEvent).decode


def decode_event(text: bytes) -> Event:
    """Return the CloudEvent. Raises UnexpectedAnswer for any other text."""
    kind = decode_as(_decode_envelope, text).kind
    if kind in _OF_MODULES:
        return decode_as(_decode_module, text)
    return decode_as(_decode_plant, text) if kind in _OF_PLANTS else decode_as(_decode_other, text)


def decode_as(decode: Callable[[bytes], T], text: bytes) -> T:
    """Return the data of a message. Raises UnexpectedAnswer if it has another form."""
    try:
        return decode(text)
    except MALFORMED as error:
        raise UnexpectedAnswer(f"an event has another form than expected: {error}") from None


class Message(msgspec.Struct, frozen=True):
    """One server-sent event."""

    event: str
    data: bytes
    id: str | None


class EventParser:
    """Parses server-sent events (HTML Standard, 9.2.6) from chunks of bytes."""

    def __init__(self) -> None:
        self.retry: float | None = None
        """The pause before a new connection in seconds, if the gateway sent it."""
        self._rest = b""
        self._fields: dict[bytes, bytes] = {}
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[Message]:
        """Return the events that are complete with this chunk."""
        *lines, self._rest = (self._rest + chunk).replace(b"\r\n", b"\n").split(b"\n")
        found: list[Message] = []
        for line in lines:
            if line:
                self._take(line)
            else:
                self._finish(found)
        if len(self._rest) + self._size > _LONGEST:
            raise UnexpectedAnswer("an event of the stream is too large")
        return found

    def _take(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"retry" and value.isdigit() and len(value) < _LONGEST_RETRY:
            self.retry = int(value) / 1000
        elif name == b"data":
            self._data.append(value)
            self._size += len(line)
        elif name in _FIELDS:
            self._fields[name] = value

    def _finish(self, found: list[Message]) -> None:
        if self._data:
            identity = self._fields.get(b"id")
            event = _decode_field(self._fields.get(b"event", b"message"))
            found.append(Message(event, b"\n".join(self._data), None if identity is None else _decode_field(identity)))
        self._fields.clear()
        self._data.clear()
        self._size = 0


def _decode_field(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise UnexpectedAnswer("a field of the stream is not UTF-8") from None
