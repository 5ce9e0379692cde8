"""Properties of a device: they connect the messages of a dialect with the states and commands of the domain.

A dialect decodes payloads into Properties and encodes wanted Properties as payloads. `kinds.py` makes states from Properties,
and wanted Properties from commands. So a dialect knows nothing about states, and a kind of device knows nothing about dialects.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Literal, TypedDict

import msgspec

from domogate.domain.safety import EmergencyTest, EmergencyTestKind, FailureType
from domogate.domain.states import Battery, ThermostatFunction, ThermostatMode, Unit
from domogate.ports import Picture


class Properties(TypedDict, total=False):
    """The properties in a message. A message may have only some properties; it says nothing about the missing properties."""

    on: bool
    level: int
    hue: float | None
    saturation: float | None
    """`hue` and `saturation` are None if the light shows no colour now."""
    position: int
    target: int
    """The position to which a shutter is moving."""
    power: float
    energy: float
    """`power` is in watts, `energy` in watt-hours."""
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
    """Whether each socket is on, by the number of the socket. The first socket is 0."""
    failures: dict[FailureType, bool]
    """For each failure type, whether the emergency controller or unit has this failure.

    Nothing is known about missing types.
    """
    charge: int
    testing: EmergencyTestKind | None
    function_test: EmergencyTest
    duration_test: EmergencyTest
    available: bool
    """Whether the availability topic says that the module is online."""
    refusal: str
    """The reason why the device refused an order."""
    picture: Picture
    """The picture of a camera."""


Measure = Literal["power", "energy", "temperature", "humidity"]
MEASURES: Mapping[Measure, Unit] = MappingProxyType(
    {"power": Unit.WATT, "energy": Unit.WATT_HOUR, "temperature": Unit.CELSIUS, "humidity": Unit.PERCENT}
)
"""The measured properties with their units."""
NOT_STATE = frozenset(("available", "refusal", "picture"))
"""Properties that are not part of the state."""

THERMOSTAT_DEFAULTS = Properties(mode=ThermostatMode.MANUAL, function=ThermostatFunction.HEATING)
"""The mode and the function that the driver assumes for a thermostat that does not report them."""


class Unsupported(Exception):
    """The dialect or the device cannot set the wanted properties. Nothing is sent."""


class Publication(msgspec.Struct, frozen=True, gc=False):
    topic: str
    payload: bytes


class QueuePolicy(Enum):
    """The rule that says which unread messages of a topic stay in the queue."""

    LATEST = "each message is complete: the newest is enough"
    ALL = "each message is a part: all are kept, up to a limit"
    DURING_CALLS = "only messages during a call matter"


class Subscription(msgspec.Struct, frozen=True, gc=False):
    """The options with which a topic is subscribed."""

    policy: QueuePolicy = QueuePolicy.LATEST
    qos: int = 0


class Codec(ABC):
    """Decodes the messages of one module and encodes the messages to it."""

    topics: Mapping[str, Subscription]
    confirmed_by_broker: bool = False
    """True if the device never confirms an order. In this case the acknowledgement of the broker is enough."""
    settable: frozenset[str] | None = None
    """The properties that an order can set. None if an order can set all properties that the device reports."""
    always: Properties = Properties()
    """Properties that never change. The driver does not send them and does not wait for them."""

    @abstractmethod
    def decode(self, topic: str, payload: bytes) -> Properties:
        """Return the properties in the message. Raises Unreadable if the payload cannot be decoded."""

    @abstractmethod
    def encode(self, wanted: Properties, /) -> Sequence[Publication]:
        """Return the messages that set the properties. Raises Unsupported if the dialect or the device cannot set them."""

    def needs_function(self, _function: ThermostatFunction) -> bool:
        """Whether an order for the manual mode must name this function.

        True if one word of the device, such as `cool`, means both the manual mode and this function. If the order did not name
        the function, the driver could send the word for another function. Then the device would change its function.
        """
        return False

    @abstractmethod
    def encode_read(self) -> Sequence[Publication]:
        """Return the messages that make the module report its state. The result is empty if the module cannot be asked."""
