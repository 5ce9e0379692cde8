"""OpenWebNet frames: text between `*` and `##` (OpenWebNet, introduction).

For an unreadable frame, `from_frame` returns None and raises no exception. Any text may arrive from a bus.
"""

import re
from collections.abc import Callable, Iterator
from typing import ClassVar

import msgspec


class _Frame(msgspec.Struct, frozen=True, gc=False):
    """Base of all frames. `form` is the text of the frame, with the names of fields instead of their values."""

    form: ClassVar[str]

    def to_frame(self) -> str:
        return self.form.format(self)


class Ack(_Frame, frozen=True, gc=False):
    """A frame that the OpenWebNet gateway sends: it accepted the request, or its answer is complete."""

    form: ClassVar[str] = "*#*1##"


class Nack(_Frame, frozen=True, gc=False):
    """A frame that the OpenWebNet gateway sends: it did not execute the request, because it cannot execute it."""

    form: ClassVar[str] = "*#*0##"


class Busy(_Frame, frozen=True, gc=False):
    """A frame that the OpenWebNet gateway sends: it could not send the request on the bus now."""

    form: ClassVar[str] = "*#*6##"


class Signal(_Frame, frozen=True, gc=False):
    """A frame that opens a session. With WHO 99, WHAT is the kind of session.

    With WHO 98, WHAT says how the client must prove that it knows the password.
    """

    form: ClassVar[str] = "*{0.who}*{0.what}##"
    who: int
    what: int


class Challenge(_Frame, frozen=True, gc=False):
    """A frame with digits only: a nonce, the answer to a nonce, or the proof that the OpenWebNet gateway knows the password."""

    form: ClassVar[str] = "*#{0.digits}##"
    digits: str


class Proof(_Frame, frozen=True, gc=False):
    """A frame with the nonce of the client, and the client's proof that it knows the password (HMAC)."""

    form: ClassVar[str] = "*#{0.nonce}*{0.digest}##"
    nonce: str
    digest: str


class StatusRequest(_Frame, frozen=True, gc=False):
    form: ClassVar[str] = "*#{0.who}*{0.where}##"
    who: int
    where: str


class Normal(_Frame, frozen=True, gc=False):
    """*WHO*WHAT*WHERE##: a command of a client or an event of the bus. `params` are the parts of WHAT after its first `#`."""

    who: int
    what: int
    where: str
    params: tuple[str, ...] = ()

    def to_frame(self) -> str:
        return f"*{self.who}*{'#'.join((str(self.what), *self.params))}*{self.where}##"


class _Dimension(_Frame, frozen=True, gc=False):
    """A frame about a dimension: *#WHO*WHERE*DIMENSION*VAL1*…*VALn##. `mark` is `#` in a frame that sets the dimension.

    The `#` is written directly before DIMENSION. `params` are the parts of DIMENSION after its first `#`, without the mark.
    """

    who: int
    where: str
    dimension: int
    values: tuple[str, ...] = ()
    params: tuple[str, ...] = ()
    mark: ClassVar[str] = ""

    def to_frame(self) -> str:
        dimension = "#".join((str(self.dimension), *self.params))
        return f"*#{self.who}*{self.where}*{self.mark}{'*'.join((dimension, *self.values))}##"


class DimensionRequest(_Dimension, frozen=True, gc=False):
    """A request for a dimension. It has no values."""


class DimensionWriting(_Dimension, frozen=True, gc=False):
    mark: ClassVar[str] = "#"


class DimensionReading(_Dimension, frozen=True, gc=False):
    """The values of a dimension, which a device sends as the answer to a request, or without a request."""


Request = Normal | StatusRequest | DimensionRequest | DimensionWriting
"""The frames that a client sends in a command session."""
Event = Normal | DimensionReading
"""The frames about the state of a device."""
Frame = Ack | Nack | Busy | Signal | Challenge | Proof | Request | Event
OnFrame = Callable[[Frame], None]

ACK = Ack()
NACK = Nack()
BUSY = Busy()

_NONCE_DIGITS = 20
"""The frame `*#DIGITS*DIGITS##` is a proof if its first number has at least this many digits. No WHO has so many."""

_ANSWERS: dict[str, Frame] = {
    "*#*1##": ACK,
    "*#*0##": NACK,
    "*#*2##": NACK,  # the gateway does not know the request
    "*#*3##": NACK,  # there is no such device
    "*#*4##": BUSY,  # a collision on the bus
    "*#*5##": BUSY,  # the gateway has no access to the bus
    "*#*6##": BUSY,  # the gateway sends another frame
}
"""The frames that end an answer of an OpenWebNet gateway. Many gateways send only the first two."""

_SIGNAL = re.compile(r"\*(9[89])\*([0-9]{1,4})##")
_CHALLENGE = re.compile(r"\*#([0-9]{1,256})##")
_PROOF = re.compile(rf"\*#([0-9]{{{_NONCE_DIGITS},256}})\*([0-9]{{1,256}})##")
_NORMAL = re.compile(r"\*([0-9]{1,5})\*([0-9]{1,6})((?:#[0-9]*)*)\*([0-9#]*\*?)##")
_STATUS = re.compile(r"\*#([0-9]{1,5})\*([0-9#]*)##")
_DIMENSION = re.compile(r"\*#([0-9]{1,5})\*([0-9#]*)\*(#?)([0-9]{1,5})((?:#[0-9]*)*)((?:\*[0-9#]*)*)##")


def from_frame(text: str) -> Frame | None:
    """Return the frame, or None if the text is not a known frame."""
    if (answer := _ANSWERS.get(text)) is not None:
        return answer
    if (match := _NORMAL.fullmatch(text)) is not None:
        who, what, params, where = match.groups()
        return Normal(int(who), int(what), where, _params(params))
    if (match := _STATUS.fullmatch(text)) is not None:
        return StatusRequest(int(match[1]), match[2])
    if (match := _DIMENSION.fullmatch(text)) is not None:
        return _dimension(match)
    if (match := _SIGNAL.fullmatch(text)) is not None:
        return Signal(int(match[1]), int(match[2]))
    if (match := _PROOF.fullmatch(text)) is not None:
        return Proof(match[1], match[2])
    if (match := _CHALLENGE.fullmatch(text)) is not None:
        return Challenge(match[1])
    return None


def _dimension(match: re.Match[str]) -> Frame | None:
    who, where, writing, dimension, written_params, written_values = match.groups()
    params = _params(written_params)
    values = tuple(written_values.split("*")[1:])
    if writing:
        return DimensionWriting(int(who), where, int(dimension), values, params) if values else None
    if values:
        return DimensionReading(int(who), where, int(dimension), values, params)
    return DimensionRequest(int(who), where, int(dimension), params=params)


def _params(text: str) -> tuple[str, ...]:
    return tuple(text.split("#")[1:])


class FrameReader:
    """Splits a stream of bytes into frames. Unreadable frames are counted and skipped, up to the next `##`."""

    MOST = 2048
    """In bytes. Every frame is shorter. If there are more bytes without `##`, they are no frame and are skipped."""

    def __init__(self) -> None:
        self._buffer = b""
        self.unreadable = 0

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Add data, and yield the frames that are complete now."""
        *chunks, self._buffer = (self._buffer + data).split(b"##")
        if len(self._buffer) > self.MOST:
            self.unreadable += 1
            self._buffer = self._buffer[-1:]  # The last character may be the first half of a `##`.
        for chunk in chunks:
            frame = _from_bytes(chunk)
            if frame is None:
                self.unreadable += 1
            else:
                yield frame


def _from_bytes(chunk: bytes) -> Frame | None:
    try:
        # Some gateways send line breaks between frames.
        return from_frame(chunk.decode("ascii").strip() + "##")
    except UnicodeDecodeError:
        return None
