"""The messages between gateways: questions to the gateway that drives a plant, and the answers of this gateway.

Here, an order and a request for a picture are also questions. A question has the remaining seconds until its deadline, not a
time of day, because the clocks of two machines differ.
"""

import msgspec

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
from domogate.ports import Picture

_FAULTS: dict[str, type[Fault]] = {
    kind.__name__: kind for kind in (CommandNotSupported, DeviceOffline, DeviceRefused, DeviceTimeout, Internal, OrderKeyTaken)
}
"""The faults that keep their type in a message. All other faults become Internal."""


class Execute(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="execute"):
    """An order. Its deadline is `left` seconds after the message was sent."""

    id: str
    plant_id: Id
    module_id: Id
    command: Command
    user_id: Id | None
    left: float

    def order(self, now: float) -> Order:
        return Order(self.id, self.plant_id, self.module_id, self.command, now + self.left, self.user_id)


class Read(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="read"):
    plant_id: Id
    module_id: Id
    left: float


class TakePicture(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="picture"):
    plant_id: Id
    module_id: Id
    left: float


Question = Execute | Read | TakePicture


class Reported(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="reported"):
    report: Report


class Pictured(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="pictured"):
    """A picture, or its first part. `parts` is the number of messages that follow, one for each other part."""

    media_type: str
    content: bytes
    parts: int


class Refused(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="refused"):
    """A fault: the name of its class, and its message."""

    kind: str
    message: str

    def fault(self) -> Fault:
        return _FAULTS.get(self.kind, Internal)(self.message)


class Elsewhere(msgspec.Struct, frozen=True, gc=False, array_like=True, tag="elsewhere"):
    """The gateway that got the question does not drive the plant any more. It did not ask the device."""


Answer = Reported | Pictured | Refused | Elsewhere

encode = msgspec.msgpack.Encoder().encode
decode_question = msgspec.msgpack.Decoder[Question](Question).decode
decode_answer = msgspec.msgpack.Decoder[Answer](Answer).decode


def refuse(fault: Fault) -> Refused:
    """Return the fault as a message. A fault whose type is not in `_FAULTS` becomes Internal."""
    kind = type(fault).__name__
    return Refused(kind if kind in _FAULTS else Internal.__name__, fault.message)


def split_picture(picture: Picture, size: int) -> tuple[Pictured, list[bytes]]:
    """Return the message with the first part of the picture, and the other parts. Each part has at most `size` bytes."""
    content = picture.content
    parts = [content[start : start + size] for start in range(size, len(content), size)]
    return Pictured(picture.media_type, content[:size], len(parts)), parts
