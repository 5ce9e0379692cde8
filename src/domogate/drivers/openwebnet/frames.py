"""OpenWebNet frames: text between `*` and `##` (OpenWebNet, introduction).

An unreadable frame is None, never an exception: a bus may carry anything.
"""

import re
from collections.abc import Iterator
from typing import ClassVar

import msgspec


class _Frame(msgspec.Struct, frozen=True, gc=False):
    """Base of all frames."""

    def to_frame(self) -> str:
        raise NotImplementedError


class Ack(_Frame, frozen=True, gc=False):
    """The request was accepted, or the answer is complete."""

    def to_frame(self) -> str:
        return "*#*1##"


class Nack(_Frame, frozen=True, gc=False):
    def to_frame(self) -> str:
        return "*#*0##"


class Signal(_Frame, frozen=True, gc=False):
    """Opens a session: WHO 99 names its kind, WHO 98 the proof of the password that the gateway wants."""

    who: int
    what: int

    def to_frame(self) -> str:
        return f"*{self.who}*{self.what}##"


class Challenge(_Frame, frozen=True, gc=False):
    """Digits only: a nonce, the answer to one, or the proof of the gateway."""

    digits: str

    def to_frame(self) -> str:
        return f"*#{self.digits}##"


class Proof(_Frame, frozen=True, gc=False):
    """The nonce of the client, and its proof that it knows the password (HMAC)."""

    nonce: str
    digest: str

    def to_frame(self) -> str:
        return f"*#{self.nonce}*{self.digest}##"


class Normal(_Frame, frozen=True, gc=False):
    """*WHO*WHAT*WHERE##: a command of a client or an event of the bus. `params` follow WHAT; WHERE is not changed."""

    who: int
    what: int
    where: str
    params: tuple[str, ...] = ()

    def to_frame(self) -> str:
        return f"*{self.who}*{_with(str(self.what), self.params)}*{self.where}##"


class StatusRequest(_Frame, frozen=True, gc=False):
    """*#WHO*WHERE##"""

    who: int
    where: str

    def to_frame(self) -> str:
        return f"*#{self.who}*{self.where}##"


class DimensionRequest(_Frame, frozen=True, gc=False):
    """*#WHO*WHERE*DIMENSION##"""

    who: int
    where: str
    dimension: int
    params: tuple[str, ...] = ()

    def to_frame(self) -> str:
        return f"*#{self.who}*{self.where}*{_with(str(self.dimension), self.params)}##"


class _DimensionValues(_Frame, frozen=True, gc=False):
    who: int
    where: str
    dimension: int
    values: tuple[str, ...]
    params: tuple[str, ...] = ()
    mark: ClassVar[str] = ""

    def to_frame(self) -> str:
        return f"*#{self.who}*{self.where}*{self.mark}{_with(str(self.dimension), self.params)}*{'*'.join(self.values)}##"


class DimensionWriting(_DimensionValues, frozen=True, gc=False):
    """*#WHO*WHERE*#DIMENSION*VAL1*…*VALn##"""

    mark: ClassVar[str] = "#"


class DimensionReading(_DimensionValues, frozen=True, gc=False):
    """*#WHO*WHERE*DIMENSION*VAL1*…*VALn##"""


Request = Normal | StatusRequest | DimensionRequest | DimensionWriting
"""The frames that a client sends in a command session."""
Event = Normal | DimensionReading
"""The frames about the state of a device."""
Frame = Ack | Nack | Signal | Challenge | Proof | Request | Event

ACK = Ack()
NACK = Nack()

_NONCE_DIGITS = 20
"""With at least so many digits, `*#DIGITS*DIGITS##` is a proof; no WHO is that long."""

_SIGNAL = re.compile(r"\*(9[89])\*([0-9]{1,4})##")
_CHALLENGE = re.compile(r"\*#([0-9]{1,256})##")
_PROOF = re.compile(rf"\*#([0-9]{{{_NONCE_DIGITS},256}})\*([0-9]{{1,256}})##")
_NORMAL = re.compile(r"\*([0-9]{1,5})\*([0-9]{1,6})((?:#[0-9]*)*)\*([0-9#]*\*?)##")
_STATUS = re.compile(r"\*#([0-9]{1,5})\*([0-9#]*)##")
_DIMENSION = re.compile(r"\*#([0-9]{1,5})\*([0-9#]*)\*(#?)([0-9]{1,5})((?:#[0-9]*)*)((?:\*[0-9#]*)*)##")


def from_frame(text: str) -> Frame | None:
    """None when it is not a known frame."""
    if text == "*#*1##":
        return ACK
    if text == "*#*0##":
        return NACK
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
    return DimensionRequest(int(who), where, int(dimension), params)


def _params(text: str) -> tuple[str, ...]:
    return tuple(text.split("#")[1:])


def _with(tag: str, params: tuple[str, ...]) -> str:
    return "#".join((tag, *params))


class FrameReader:
    """Splits a stream of bytes into frames. Unreadable ones are counted and skipped, up to the next `##`."""

    MOST = 2048
    """Longer than any frame: so much data without a `##` is not the beginning of one."""

    def __init__(self) -> None:
        self._stop_empty_buses = b""
        self.unreadable = 0

    def feed(self, data: bytes) -> Iterator[Frame]:
        """All frames that are complete now."""
        *chunks, self._stop_empty_buses = (self._stop_empty_buses + data).split(b"##")
        if len(self._stop_empty_buses) > self.MOST:
            self.unreadable += 1
            self._stop_empty_buses = self._stop_empty_buses[-1:]  # it may be the first half of a `##`
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
