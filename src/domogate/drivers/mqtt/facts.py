"""The words between dialects and the domain: what a message says of a module, and what a command wants of it.

A dialect translates payloads into Facts and wanted Facts into payloads; `kinds.py` makes states of the ones and the others of
commands. So each dialect is a table, and each kind of device is said once.
"""

import math
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Protocol, TypedDict

import msgspec

from domogate.domain.states import Battery, ThermostatFunction, ThermostatMode
from domogate.ports import Picture


class Facts(TypedDict, total=False):
    """What is not there was not said."""

    on: bool
    level: int
    hue: float | None
    saturation: float | None
    """Hue and saturation None: the light shows no colour now."""
    position: int
    target: int
    """Where a shutter is going."""
    power: float
    energy: float
    """Watt and watt-hours."""
    temperature: float
    humidity: float
    battery: Battery
    firmware: int
    locked: bool
    active: bool
    set_point: float
    mode: ThermostatMode
    function: ThermostatFunction
    load_active: bool
    sockets: dict[int, bool]
    """By place, the first is 0; those that were not spoken of are not there."""
    available: bool
    """Whoever watches over it says that it is there."""
    refusal: str
    """It would not do what it was told, in these words."""
    picture: Picture
    """What a camera sees."""


MEASURES = ("power", "energy", "temperature", "humidity")
ABOUT_THE_WAY = frozenset(("available", "refusal", "picture"))
"""Facts that say nothing of the state the module is in."""


UNSAID_OF_A_THERMOSTAT = Facts(mode=ThermostatMode.MANUAL, function=ThermostatFunction.HEATING)
"""What one is in that never speaks of it."""


class Unreadable(Exception):
    """A payload that makes no sense here. It is counted, and changes nothing."""


class Unsayable(Exception):
    """What was wanted has no word in the dialect, or the device has no such thing."""


class Publication(msgspec.Struct, frozen=True, gc=False):
    topic: str
    payload: bytes


class Keep(Enum):
    """What becomes of messages that come faster than they are read."""

    NEWEST = "each says all there is to say: the newest counts"
    EVERY = "each says a part: all are kept, up to a bound"
    WHILE_WAITING = "they matter only to an order that is under way"


class Listening(msgspec.Struct, frozen=True, gc=False):
    """How a topic is listened to."""

    keep: Keep = Keep.NEWEST
    qos: int = 0


class Speech(Protocol):
    """How one module is spoken with."""

    @property
    def topics(self) -> Mapping[str, Listening]: ...
    @property
    def confirmed_by_broker(self) -> bool:
        """True: the device never says what it did, and the broker's acknowledgement has to do."""
        ...

    @property
    def always(self) -> Facts:
        """What holds without a word: it is neither told nor waited for."""
        ...

    def hear(self, topic: str, payload: bytes) -> Facts:
        """Raises Unreadable."""
        ...

    def say(self, wanted: Facts) -> Sequence[Publication]:
        """Raises Unsayable."""
        ...

    def ask(self) -> Sequence[Publication]:
        """What makes the module say what it is in; nothing: it speaks only by itself."""
        ...


# Reading payloads

_decode = msgspec.json.Decoder().decode


def read_json(payload: bytes) -> Any:
    """Raises Unreadable."""
    try:
        return _decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Unreadable("it is not JSON") from None


def read_object(payload: bytes) -> dict[str, Any]:
    """Raises Unreadable."""
    value = read_json(payload)
    if not isinstance(value, dict):
        raise Unreadable("it is not a JSON object")
    return value


def read_text(payload: bytes) -> str:
    """Raises Unreadable."""
    try:
        return payload.decode()
    except UnicodeDecodeError:
        raise Unreadable("it is not UTF-8") from None


def as_number(value: object) -> float | None:
    """None for what is no finite number; a boolean is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def within(value: object, low: float, high: float) -> float | None:
    """None for what is no number or is out of the bounds."""
    number = as_number(value)
    return number if number is not None and low <= number <= high else None


def battery_of(percent: float) -> Battery:
    for least, word in ((90, Battery.FULL), (60, Battery.HIGH), (30, Battery.MEDIUM), (10, Battery.LOW)):
        if percent >= least:
            return word
    return Battery.VERY_LOW
