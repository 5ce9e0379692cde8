"""The base of all devices on a bus: their addresses, how they are read, and how they execute commands."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

import msgspec

from domogate.domain.commands import Command
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import CommandNotSupported
from domogate.domain.states import Reading, State
from domogate.drivers.openwebnet.addresses import parse_where
from domogate.drivers.openwebnet.frames import Event, Normal, Request, StatusRequest

Key = tuple[int, str]
"""WHO, and the text that `find_key` returns for the address."""


class Plan(msgspec.Struct, frozen=True):
    """How a command is executed: the requests to send, and how the device confirms them."""

    requests: tuple[Request, ...]
    is_confirmed: Callable[[], bool] | None = None
    """Called after each new frame of the device. Returns whether the state confirms the command.

    This field is None if the ACK is the only confirmation.
    """
    on_done: Callable[[], None] | None = None
    """Called after the confirmation."""
    read_after: float | None = None
    """Read the device after this number of seconds, because it switches back without a command."""


class Device(ABC):
    """The device of one module. A change replaces `state`; a state is never modified."""

    def __init__(self, kind: DeviceKind, options: Mapping[str, Any], last: State | None) -> None:
        self.kind = kind
        self.options = options
        self.state: State | None = None
        self._readings: dict[str, Reading] = {}
        self.restore(last)

    @property
    @abstractmethod
    def keys(self) -> frozenset[Key]:
        """The addresses of the frames that are about this device."""

    @property
    @abstractmethod
    def read_requests(self) -> tuple[Request, ...]:
        """The requests that read the state. Empty for a device without a state."""

    @abstractmethod
    def restore(self, last: State | None) -> None:
        """Start with the last known state of the module. None means that no state is known."""

    @abstractmethod
    def receive(self, event: Event, at: float) -> bool:
        """Process a frame that is about this device. The address of the frame is one of `keys`.

        Returns False if the frame does not contain the state of this device.
        """

    def receive_command(self, _command: Normal, _at: float) -> bool:
        """Process a command to many devices. This device is one of them.

        Returns False if the command has no information about the state of this device.
        """
        return False

    def must_be_read(self, _event: Event) -> bool:
        """Whether the frame means that the state has changed, but does not contain the new state."""
        return False

    def is_addressed_by(self, _where: str) -> bool:
        """Whether a command to this address reaches this device.

        The address is always an address of many devices: all devices, an area or a group.
        """
        return False

    def plan(self, command: Command) -> Plan:
        """Return how to execute the command. Raises CommandNotSupported if the device can never execute it."""
        raise self.refusal(command)

    def refusal(self, command: Command) -> CommandNotSupported:
        return CommandNotSupported(f"a module of kind {self.kind} cannot '{command.__struct_config__.tag}' on this bus")

    def needs_state(self, _command: Command) -> bool:
        """Whether the state of the device must be read before the frames of the command can be chosen."""
        return False

    @property
    def subscriptions(self) -> tuple[Request, ...]:
        """The requests that the driver repeats from time to time, so that the device sends reports. NACKs are ignored."""
        return ()

    # readings

    def add_reading(self, what: str, reading: Reading) -> None:
        """Add a reading of the measure `what` to the next report. It replaces an older reading of this measure."""
        self._readings[what] = reading

    def take_readings(self) -> tuple[tuple[str, Reading], ...]:
        readings, self._readings = tuple(self._readings.items()), {}
        return readings


class PointDevice(Device):
    """A device at one point of the bus. It may be in groups. Its options are already checked."""

    who: ClassVar[int]

    def __init__(self, kind: DeviceKind, options: Mapping[str, Any], last: State | None) -> None:
        self.where_text = str(options["where"])
        where = parse_where(self.where_text)
        assert where is not None
        self.where = where
        self.groups = frozenset(options.get("groups", ()))
        super().__init__(kind, options, last)

    @property
    def keys(self) -> frozenset[Key]:
        return frozenset({(self.who, self.where.key)})

    @property
    def read_requests(self) -> tuple[Request, ...]:
        return (StatusRequest(self.who, self.where_text),)

    def is_addressed_by(self, where: str) -> bool:
        address = parse_where(where)
        return address is not None and address.includes(self.where, self.groups)


def to_number(text: str) -> int | None:
    """Return the number if the text has 1 to 12 digits and nothing else. Otherwise return None."""
    return int(text) if text.isdigit() and len(text) <= 12 else None


def to_numbers(texts: Iterable[str]) -> tuple[int, ...] | None:
    """Return the numbers, or None if one of the texts is not a number."""
    numbers = tuple(to_number(text) for text in texts)
    return None if None in numbers else tuple(number for number in numbers if number is not None)
