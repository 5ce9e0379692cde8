"""The messages between gateways: requests to the gateway that drives a plant, and its answers.

A request is an order, a question or a request for a picture. It has the remaining seconds until its deadline, not a time of
day. The reason: the clocks of two machines differ.

A message can come from a faulty program, or from a stranger who may publish on the NATS server. So each field has limits. The
size of a message is checked before the message is decoded.
"""

from collections.abc import Callable
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from domogate.domain.commands import Command, Order
from domogate.domain.faults import (
    CommandNotSupported,
    DeviceOffline,
    DeviceRefused,
    DeviceTimeout,
    Fault,
    Internal,
    OrderKeyTaken,
)
from domogate.domain.ids import Id
from domogate.domain.states import Report

LARGEST_PICTURE = 1 << 20
_LARGEST_REQUEST = 4_096
_LARGEST_ANSWER = LARGEST_PICTURE + 1_024
_LONGEST_TEXT = 1_000

LONGEST_WAIT = 3_600.0
"""In seconds. A request never waits longer than this for its device."""

_Uuid = Annotated[Id, Meta(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")]
_OrderId = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\x00]*\Z")]
_Left = Annotated[float, Meta(ge=-LONGEST_WAIT, le=LONGEST_WAIT)]

_FAULTS: dict[str, type[Fault]] = {
    kind.__name__: kind for kind in (CommandNotSupported, DeviceOffline, DeviceRefused, DeviceTimeout, Internal, OrderKeyTaken)
}
"""The faults that keep their type in a message. All other faults become Internal."""


class Execute(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="execute"):
    """A message that asks another gateway to execute an order.

    `left` is the time from the sending of the message to the deadline of the order, in seconds.
    """

    id: _OrderId
    plant_id: _Uuid
    module_id: _Uuid
    command: Command
    user_id: _Uuid | None
    left: _Left

    def order(self, now: float) -> Order:
        return Order(self.id, self.plant_id, self.module_id, self.command, now + self.left, self.user_id)


class Read(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="read"):
    plant_id: _Uuid
    module_id: _Uuid
    left: _Left


class TakePicture(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="picture"):
    plant_id: _Uuid
    module_id: _Uuid
    left: _Left


Request = Execute | Read | TakePicture


class Reported(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="reported"):
    report: Report


class Pictured(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="pictured"):
    """An answer: a whole picture, or the first part of a picture.

    `parts` is the number of messages that follow. Each of them has one more part of the picture.
    """

    media_type: Annotated[str, Meta(pattern=r"^image/[a-z]{1,20}\Z")]
    content: bytes
    parts: Annotated[int, Meta(ge=0, le=LARGEST_PICTURE)]
    digest: bytes = b""
    """A hash of the whole picture. It is empty if the sender has an earlier version of the gateway."""


class Refused(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="refused"):
    """An answer: a fault, with the name of its class and its message."""

    kind: str
    message: str
    is_temporary: bool = False

    def fault(self) -> Fault:
        kind, message = _FAULTS.get(self.kind, Internal), self.message[:_LONGEST_TEXT]
        return Internal(message, is_temporary=self.is_temporary) if kind is Internal else kind(message)


class Elsewhere(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="elsewhere"):
    """An answer: the gateway that got the request does not drive the plant any more. It did not ask the device."""


Answer = Reported | Pictured | Refused | Elsewhere

encode = msgspec.msgpack.Encoder().encode
_decode_request: Callable[[bytes], Request] = msgspec.msgpack.Decoder(Request).decode
_decode_answer: Callable[[bytes], Answer] = msgspec.msgpack.Decoder(Answer).decode

T = TypeVar("T")


class NotAMessage(ValueError):
    """The received bytes are not a valid message."""


def decode_request(content: bytes) -> Request:
    """Decode a request of another gateway. Raises NotAMessage if the content is not a valid request."""
    return decode(_decode_request, content, _LARGEST_REQUEST)


def decode_answer(content: bytes) -> Answer:
    """Decode the answer of another gateway. Raises NotAMessage if the content is not a valid answer."""
    return decode(_decode_answer, content, _LARGEST_ANSWER)


def decode(decoder: Callable[[bytes], T], content: bytes, largest: int) -> T:
    """Return the decoded message. Raises only NotAMessage: if the content has more than `largest` bytes or is not valid."""
    if len(content) > largest:
        raise NotAMessage(f"the message has {len(content)} bytes; the limit is {largest}")
    try:
        return decoder(content)
    except (ValueError, RecursionError) as error:
        raise NotAMessage(str(error)) from None


def refuse(fault: Fault) -> Refused:
    """Return the fault as a message. A fault whose type is not in `_FAULTS` becomes Internal."""
    kind = type(fault).__name__
    is_temporary = isinstance(fault, Internal) and fault.is_temporary
    return Refused(kind if kind in _FAULTS else Internal.__name__, fault.message, is_temporary)
