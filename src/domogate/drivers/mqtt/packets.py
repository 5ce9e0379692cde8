"""MQTT 5.0 and 3.1.1: encodes packets that the gateway sends, and decodes packets of a broker (Decision 0037).

Section numbers are those of the OASIS standard MQTT Version 5.0. Packets of version 3.1.1 have no properties (2.2.2).
"""

import struct
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

V5, V311 = 5, 4

CONNECT, CONNACK, PUBLISH, PUBACK = 0x10, 0x20, 0x30, 0x40
SUBSCRIBE, SUBACK, UNSUBSCRIBE, UNSUBACK = 0x82, 0x90, 0xA2, 0xB0
PINGREQ, PINGRESP, DISCONNECT = 0xC0, 0xD0, 0xE0

LONGEST_TOPIC = 65_535
NO_MATCHING_SUBSCRIBERS = 0x10
FAILURE = 0x80
"""Reason codes of this value and above are failures (2.4)."""

_MESSAGE_EXPIRY, _SESSION_EXPIRY, _MAXIMUM_PACKET_SIZE = 0x02, 0x11, 0x27
_SERVER_KEEP_ALIVE, _RECEIVE_MAXIMUM, _MAXIMUM_QOS, _USER_PROPERTY = 0x13, 0x21, 0x24, 0x26
_SIZES = {0x11: 4, 0x13: 2, 0x21: 2, 0x22: 2, 0x24: 1, 0x25: 1, 0x27: 4, 0x28: 1, 0x29: 1, 0x2A: 1}
"""For each property of a CONNACK whose value is a number: the number of bytes of this value (3.2.2.3)."""
_TEXTS = {0x12: 1, 0x15: 1, 0x16: 1, 0x1A: 1, 0x1C: 1, 0x1F: 1, _USER_PROPERTY: 2}
"""For each property of a CONNACK that contains texts: the number of texts. A text begins with its length, in two bytes."""
_RETAIN_AS_PUBLISHED = 0x08
_RETAINED_WILL = 0x04 | 0x08 | 0x20
"""The flags of a last will with QoS 1 that is retained (3.1.2.3)."""
RETAIN, QOS = 0x01, 0x06
"""The flags of a PUBLISH (3.3.1)."""

REASONS: Mapping[int, str] = MappingProxyType(
    {
        0x10: "there is no subscriber",
        0x80: "unspecified error",
        0x81: "malformed packet",
        0x82: "protocol error",
        0x83: "implementation specific error",
        0x84: "unsupported protocol version",
        0x85: "client identifier not valid",
        0x86: "bad user name or password",
        0x87: "not authorized",
        0x88: "server unavailable",
        0x89: "server busy",
        0x8A: "banned",
        0x8B: "server shutting down",
        0x8C: "bad authentication method",
        0x8D: "keep alive timeout",
        0x8E: "session taken over by another client with the same client id",
        0x8F: "topic filter invalid",
        0x90: "topic name invalid",
        0x93: "receive maximum exceeded",
        0x95: "packet too large",
        0x96: "message rate too high",
        0x97: "quota exceeded",
        0x98: "administrative action",
        0x99: "payload format invalid",
        0x9A: "retained messages not supported",
        0x9B: "QoS not supported",
        0x9C: "use another server",
        0x9D: "server moved",
        0x9F: "connection rate exceeded",
    }
)
# Return codes of CONNACK in 3.1.1 (section 3.2.2.3 of that version), as reason codes of 5.0.
_CONNACK_311 = {0: 0, 1: 0x84, 2: 0x85, 3: 0x88, 4: 0x86, 5: 0x87}


class Malformed(Exception):
    """The packet cannot be decoded. The connection must be closed."""


def words_for(reason: int) -> str:
    return REASONS.get(reason, f"reason code 0x{reason:02x}")


# encoding


def to_varint(number: int) -> bytes:
    """Encode the number as a variable byte integer (MQTT 5.0, section 1.5.5)."""
    out = bytearray()
    while True:
        number, digit = divmod(number, 128)
        out.append(digit | 0x80 if number else digit)
        if not number:
            return bytes(out)


def _text(text: str | bytes) -> bytes:
    encoded = text.encode() if isinstance(text, str) else text
    return struct.pack("!H", len(encoded)) + encoded


def _packet(first: int, body: bytes) -> bytes:
    return bytes((first,)) + to_varint(len(body)) + body


def _properties(version: int, *properties: bytes) -> bytes:
    if version != V5:
        return b""
    together = b"".join(properties)
    return to_varint(len(together)) + together


def to_connect(
    client_id: str,
    *,
    version: int,
    keepalive: int,
    username: str | None,
    password: str | None,
    largest_packet: int,
    will: tuple[str, bytes] | None = None,
) -> bytes:
    """Return a CONNECT with a clean start. The MQTT session ends with the connection: the broker keeps nothing (Decision 0038).

    `will` is the topic and the payload of a retained message. The broker publishes it when it loses the connection (3.1.2.5).
    """
    flags = 0x02 | (0x80 if username is not None else 0) | (0x40 if password is not None else 0)
    flags |= 0 if will is None else _RETAINED_WILL
    body = _text("MQTT") + struct.pack("!BBH", version, flags, keepalive)
    body += _properties(
        version, struct.pack("!BI", _SESSION_EXPIRY, 0), struct.pack("!BI", _MAXIMUM_PACKET_SIZE, largest_packet)
    )
    body += _text(client_id)
    body += b"" if will is None else _properties(version) + _text(will[0]) + _text(will[1])
    body += b"" if username is None else _text(username)
    body += b"" if password is None else _text(password)
    return _packet(CONNECT, body)


def to_subscribe(packet_id: int, filters: Sequence[tuple[str, int]], version: int) -> bytes:
    options = _RETAIN_AS_PUBLISHED if version == V5 else 0
    body = struct.pack("!H", packet_id) + _properties(version)
    return _packet(SUBSCRIBE, body + b"".join(_text(topic) + bytes((qos | options,)) for topic, qos in filters))


def to_unsubscribe(packet_id: int, filters: Sequence[str], version: int) -> bytes:
    return _packet(UNSUBSCRIBE, struct.pack("!H", packet_id) + _properties(version) + b"".join(map(_text, filters)))


def to_publish(
    packet_id: int | None, topic: str, payload: bytes, version: int, expiry: int | None, *, retain: bool = False
) -> bytes:
    """Return a PUBLISH with QoS 1, or with QoS 0 if the packet id is None.

    With MQTT 5, the broker must not deliver the message later than `expiry` seconds after it was sent (3.3.2.3.3).
    """
    properties = _properties(version, *([] if expiry is None else [struct.pack("!BI", _MESSAGE_EXPIRY, expiry)]))
    first = PUBLISH | (RETAIN if retain else 0)
    if packet_id is None:
        return _packet(first, _text(topic) + properties + payload)
    return _packet(first | 0x02, _text(topic) + struct.pack("!H", packet_id) + properties + payload)


def to_puback(packet_id: bytes) -> bytes:
    return b"\x40\x02" + packet_id


PING = bytes((PINGREQ, 0))
DISCONNECT_PACKET = bytes((DISCONNECT, 0))


# decoding


def from_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at this position, and the position after it. Raises Malformed if the number is not complete."""
    number = 0
    for index in range(4):
        if at + index >= len(data):
            break
        digit = data[at + index]
        number |= (digit & 0x7F) << (7 * index)
        if digit < 0x80:
            return number, at + index + 1
    raise Malformed("a length that does not end")


class Connack(NamedTuple):
    """The answer to a login. `keepalive`, `receive_maximum` and `has_qos_1` are the limits that the broker sets.

    `keepalive` is in seconds. None means that the broker accepts the value of the client. `receive_maximum` is the number of
    messages that the client may send before the broker has acknowledged one of them (4.9). `has_qos_1` is False if the client
    may send messages only with QoS 0 (3.2.2.3.4).
    """

    reason: int
    keepalive: int | None = None
    receive_maximum: int = 65_535
    has_qos_1: bool = True


def from_connack(body: bytes, version: int) -> Connack:
    """Return the reason code as MQTT 5.0 numbers it, and the limits. A code of 3.1.1 is converted. Raises Malformed."""
    if len(body) < 2:
        raise Malformed("a CONNACK that is too short")
    # A broker that does not know 5.0 always answers as in 3.1.1.
    if version != V5 or body[1] in (1, 2, 3, 4, 5):
        return Connack(_CONNACK_311.get(body[1], body[1]))
    numbers = _read_numbers(body[2:])
    has_qos_1 = numbers.get(_MAXIMUM_QOS, 1) > 0
    return Connack(body[1], numbers.get(_SERVER_KEEP_ALIVE) or None, numbers.get(_RECEIVE_MAXIMUM) or 65_535, has_qos_1)


def _read_numbers(data: bytes) -> dict[int, int]:
    """Return the properties of a CONNACK that are numbers. Reading ends at a property that is unknown or too long."""
    numbers: dict[int, int] = {}
    length, at = from_varint(data, 0) if data else (0, 0)
    end = min(len(data), at + length)
    while at < end:
        name, at = data[at], at + 1
        if name not in _SIZES and name not in _TEXTS:
            break
        for _ in range(_TEXTS.get(name, 0)):
            at += 2 + int.from_bytes(data[at : at + 2], "big")
        size = _SIZES.get(name, 0)
        if size and at + size <= end:
            numbers[name] = int.from_bytes(data[at : at + size], "big")
        at += size
    return numbers


def from_ack(body: bytes, version: int) -> tuple[int, int]:
    """Return the packet id and the reason code of a PUBACK. No reason code means success (3.4.2.1). Raises Malformed."""
    if len(body) < 2:
        raise Malformed("an acknowledgement that is too short")
    return body[0] << 8 | body[1], body[2] if version == V5 and len(body) > 2 else 0


def from_suback(body: bytes, version: int) -> tuple[int, bytes]:
    """Return the packet id and one reason code for each topic filter.

    This function also reads an UNSUBACK. In version 3.1.1 an UNSUBACK has no reason codes. Raises Malformed.
    """
    if len(body) < 2:
        raise Malformed("an acknowledgement that is too short")
    at = 2
    if version == V5:
        length, at = from_varint(body, at)
        at += length
    return body[0] << 8 | body[1], body[at:]


def from_publish(first: int, body: bytes, version: int) -> tuple[bytes, bytes, bytes | None]:
    """Return the topic, the payload, and the packet id for the PUBACK (None with QoS 0), each as bytes. Raises Malformed."""
    if len(body) < 2:
        raise Malformed("a PUBLISH that is too short")
    at = 2 + (body[0] << 8 | body[1])
    topic, packet_id = body[2:at], None
    if first & QOS:
        packet_id = body[at : at + 2]
        at += 2
    if version == V5:
        length, at = from_varint(body, at)
        at += length
    if at > len(body):
        raise Malformed("a PUBLISH whose parts are longer than itself")
    return topic, body[at:], packet_id


def from_disconnect(body: bytes) -> int:
    return body[0] if body else 0
