"""OpenWebNet frames: what gateway and clients say to each other, as text between `*` and `##` (OpenWebNet, introduction).

A frame that cannot be read is None, never an exception: a bus carries what its devices send.
"""

import re
from collections.abc import Iterator

import msgspec


class _Frame(msgspec.Struct, frozen=True, gc=False):
    """Base of all frames."""

    def to_frame(self) -> str:
        raise NotImplementedError


class Ack(_Frame, frozen=True, gc=False):
    """Taken, or: that was the whole answer."""

    def to_frame(self) -> str:
        return "*#*1##"


class Nack(_Frame, frozen=True, gc=False):
    def to_frame(self) -> str:
        return "*#*0##"


class Signal(_Frame, frozen=True, gc=False):
    """What opens a session: 99 says which kind is wanted, 98 which proof of the password the gateway wants."""

    who: int
    what: int

    def to_frame(self) -> str:
        return f"*{self.who}*{self.what}##"


class Challenge(_Frame, frozen=True, gc=False):
    """Digits alone: a nonce, an answer to one, or the gateway's own proof."""

    digits: str

    def to_frame(self) -> str:
        return f"*#{self.digits}##"


class Proof(_Frame, frozen=True, gc=False):
    """The client's random digits, and its proof that it knows the password (HMAC)."""

    nonce: str
    digest: str

    def to_frame(self) -> str:
        return f"*#{self.nonce}*{self.digest}##"


class Normal(_Frame, frozen=True, gc=False):
    """*WHO*WHAT*WHERE##: a command from a client, a fact from the bus. `params` follow WHAT; WHERE is kept as it is written."""

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


class DimensionWriting(_Frame, frozen=True, gc=False):
    """*#WHO*WHERE*#DIMENSION*VAL1*…*VALn##"""

    who: int
    where: str
    dimension: int
    values: tuple[str, ...]
    params: tuple[str, ...] = ()

    def to_frame(self) -> str:
        return f"*#{self.who}*{self.where}*#{_with(str(self.dimension), self.params)}*{'*'.join(self.values)}##"


class DimensionReading(_Frame, frozen=True, gc=False):
    """*#WHO*WHERE*DIMENSION*VAL1*…*VALn##"""

    who: int
    where: str
    dimension: int
    values: tuple[str, ...]
    params: tuple[str, ...] = ()

    def to_frame(self) -> str:
        return f"*#{self.who}*{self.where}*{_with(str(self.dimension), self.params)}*{'*'.join(self.values)}##"


Request = Normal | StatusRequest | DimensionRequest | DimensionWriting
"""What a client sends in a command session."""
News = Normal | DimensionReading
"""What tells of a device."""
Frame = Ack | Nack | Signal | Challenge | Proof | Request | News

ACK = Ack()
NACK = Nack()

_NONCE_DIGITS = 20
"""From so many digits on, `*#DIGITS*DIGITS##` is a proof; no WHO is that long."""

_SIGNAL = re.compile(r"\*(9[89])\*([0-9]{1,4})##")
_CHALLENGE = re.compile(r"\*#([0-9]{1,256})##")
_PROOF = re.compile(rf"\*#([0-9]{{{_NONCE_DIGITS},256}})\*([0-9]{{1,256}})##")
_NORMAL = re.compile(r"\*([0-9]{1,5})\*([0-9]{1,6})((?:#[0-9]*)*)\*([0-9#]*\*?)##")
_STATUS = re.compile(r"\*#([0-9]{1,5})\*([0-9#]*)##")
_DIMENSION = re.compile(r"\*#([0-9]{1,5})\*([0-9#]*)\*(#?)([0-9]{1,5})((?:#[0-9]*)*)((?:\*[0-9#]*)*)##")


def from_frame(text: str) -> Frame | None:
    """The frame that is written there, or None where it is none that we know."""
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


def _params(written: str) -> tuple[str, ...]:
    return tuple(written.split("#")[1:])


def _with(tag: str, params: tuple[str, ...]) -> str:
    return "#".join((tag, *params))


class FrameReader:
    """Cuts a stream of bytes into frames. What cannot be read is counted and passed over: the next `##` is a new beginning."""

    MOST = 2048
    """Longer than any frame: without a `##` by then, what came is not the beginning of one."""

    def __init__(self) -> None:
        self._rest = b""
        self.unreadable = 0

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Every frame that is complete now."""
        *chunks, self._rest = (self._rest + data).split(b"##")
        if len(self._rest) > self.MOST:
            self.unreadable += 1
            self._rest = self._rest[-1:]  # it may be the first half of a `##`
        for chunk in chunks:
            frame = _from_bytes(chunk)
            if frame is None:
                self.unreadable += 1
            else:
                yield frame


def _from_bytes(chunk: bytes) -> Frame | None:
    try:
        # Some gateways break lines between frames.
        return from_frame(chunk.decode("ascii").strip() + "##")
    except UnicodeDecodeError:
        return None
