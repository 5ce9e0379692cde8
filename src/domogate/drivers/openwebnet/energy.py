"""WHO 18: energy meters, and meters of plugs."""

from collections.abc import Mapping
from typing import Any

from domogate.domain.devices import DeviceKind
from domogate.domain.states import EnergyMeterState, Reading, State, Unit
from domogate.drivers.openwebnet.addresses import parse_meter
from domogate.drivers.openwebnet.device import Device, Key, to_number
from domogate.drivers.openwebnet.frames import DimensionReading, DimensionRequest, DimensionWriting, Event, Request

WHO = 18
_POWER, _TOTAL, _UPDATES = 113, 51, 1200
_ACTIVE_POWER = ("1",)

UPDATED_FOR = 120
"""In minutes: how long a meter reports its power after a request. The driver repeats the request long before the end."""

_NO_VALUE = 4_294_967_295
"""The value that a meter sends before its first measurement."""


class Meter:
    """The meter of an energy meter module or of a plug."""

    def __init__(self, where: str) -> None:
        self.where_text = f"{where}#0" if where.startswith("7") and "#" not in where else where
        self.power: Reading | None = None
        self.energy: Reading | None = None

    @property
    def key(self) -> Key:
        return (WHO, parse_meter(self.where_text) or self.where_text)

    @property
    def read_requests(self) -> tuple[Request, ...]:
        return (DimensionRequest(WHO, self.where_text, _POWER), DimensionRequest(WHO, self.where_text, _TOTAL))

    @property
    def subscriptions(self) -> tuple[Request, ...]:
        return (DimensionWriting(WHO, self.where_text, _UPDATES, (str(UPDATED_FOR),), _ACTIVE_POWER),)

    def receive(self, event: DimensionReading, at: float) -> tuple[str, Reading] | None:
        """Return the name of the measure and the reading in the frame, or None if the frame has no reading."""
        value = to_number(event.values[0])
        if value is None or value == _NO_VALUE:
            return None
        if event.dimension == _POWER:
            self.power = Reading(float(value), Unit.WATT, at)
            return "power", self.power
        if event.dimension == _TOTAL:
            self.energy = Reading(float(value), Unit.WATT_HOUR, at)
            return "energy", self.energy
        return None


class EnergyMeter(Device):
    """An energy meter: the products F520, F521, F522, F523, 3522."""

    def __init__(self, kind: DeviceKind, options: Mapping[str, Any], last: State | None) -> None:
        self._meter = Meter(str(options["where"]))
        super().__init__(kind, options, last)

    def restore(self, last: State | None) -> None:
        if isinstance(last, EnergyMeterState):
            self._meter.power, self._meter.energy = last.power, last.energy

    @property
    def keys(self) -> frozenset[Key]:
        return frozenset({self._meter.key})

    @property
    def read_requests(self) -> tuple[Request, ...]:
        return self._meter.read_requests

    @property
    def subscriptions(self) -> tuple[Request, ...]:
        return self._meter.subscriptions

    def receive(self, event: Event, at: float) -> bool:
        measured = self._meter.receive(event, at) if isinstance(event, DimensionReading) else None
        if measured is None:
            return False
        self.add_reading(*measured)
        self.state = EnergyMeterState(power=self._meter.power, energy=self._meter.energy)
        return True
