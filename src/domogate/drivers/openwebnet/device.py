"""What every device on a bus is: addresses that it is heard under, questions to ask it, and what it makes of a command."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from domogate.domain.commands import Command
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceRefused
from domogate.domain.states import Reading, State
from domogate.drivers.openwebnet.frames import News, Normal, Request

Key = tuple[int, str]
"""WHO and an address, written in the one way that addresses.py knows."""


class Plan(msgspec.Struct, frozen=True):
    """How a command is carried out."""

    requests: tuple[Request, ...]
    is_shown: Callable[[], bool] | None = None
    """Whether the state shows it, by something heard since; None: the gateway's ACK is all there is to know."""
    on_ack: Callable[[float], None] | None = None
    ask_after: float | None = None
    """Ask again so many seconds later, since the device goes back by itself."""


class Device(ABC):
    """One module's worth of devices. `state` is replaced, never altered."""

    def __init__(self, kind: DeviceKind, options: Mapping[str, Any], last: State | None) -> None:
        self.kind = kind
        self.options = options
        self.state: State | None = None
        self._readings: dict[str, Reading] = {}
        self.begin(last)

    @property
    @abstractmethod
    def keys(self) -> frozenset[Key]:
        """Under what it is heard."""

    @property
    @abstractmethod
    def questions(self) -> tuple[Request, ...]:
        """What to ask to know its state; none for what has no state to ask for."""

    def begin(self, last: State | None) -> None:  # noqa: B027 (most devices begin with what they are asked for)
        """Go on from the last known state, as far as it is of use."""

    @abstractmethod
    def hear(self, news: News, at: float) -> bool:
        """Take in a frame that is addressed to one of its keys. False where it says nothing of its state."""

    def overhear(self, command: Normal, at: float) -> bool:  # noqa: ARG002 (those that obey such commands need it)
        """Take in a command to many at once, this one among them."""
        return False

    def must_be_asked(self, news: News) -> bool:  # noqa: ARG002 (those that differ need it)
        """Whether the frame says that its state moved, and not where to."""
        return False

    def concerns(self, where: str) -> bool:  # noqa: ARG002 (those that differ need it)
        """Whether what is said to that address, of many at once, is said to this device too."""
        return False

    def plan(self, command: Command) -> Plan:
        """Raises DeviceRefused for what it cannot do."""
        raise self.refusal(command)

    def refusal(self, command: Command) -> DeviceRefused:
        return DeviceRefused(f"a module of kind {self.kind} cannot '{command.__struct_config__.tag}' on this bus")

    @property
    def subscriptions(self) -> tuple[Request, ...]:
        """What to ask for now and then so that it goes on to report by itself; a NACK is no harm."""
        return ()

    # readings

    def note(self, what: str, reading: Reading) -> None:
        """To be kept as history. Of several between two reports the newest is told."""
        self._readings[what] = reading

    def take_readings(self) -> tuple[tuple[str, Reading], ...]:
        readings, self._readings = tuple(self._readings.items()), {}
        return readings


def check_bounds(what: str, value: float | None, low: float, high: float) -> None:
    """A device refuses what is outside its bounds (Spec 8). Raises DeviceRefused."""
    if value is not None and not low <= value <= high:
        raise DeviceRefused(f"{what} must be within {low:g}..{high:g}")


def to_number(text: str) -> int | None:
    """Digits as a number, whatever else a bus may carry as None."""
    return int(text) if text.isdigit() and len(text) <= 12 else None


def to_numbers(texts: Iterable[str]) -> tuple[int, ...] | None:
    """All of them, or None."""
    numbers = tuple(to_number(text) for text in texts)
    return None if None in numbers else tuple(number for number in numbers if number is not None)
