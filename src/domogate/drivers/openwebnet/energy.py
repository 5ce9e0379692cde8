"""WHO 18: meters, and the energy that plugs use."""

from collections.abc import Mapping
from typing import Any

from domogate.domain.devices import DeviceKind
from domogate.domain.states import EnergyMeterState, Reading, State, Unit
from domogate.drivers.openwebnet.addresses import parse_meter
from domogate.drivers.openwebnet.device import Device, Key, to_number
from domogate.drivers.openwebnet.frames import DimensionReading, DimensionRequest, DimensionWriting, News, Request

WHO = 18
_POWER, _TOTAL, _UPDATES = 113, 51, 1200
_ACTIVE_POWER = ("1",)

UPDATED_FOR = 120
"""Minutes for which a meter is asked to tell its power by itself; it is asked again well before they are over."""

_NO_VALUE = 4_294_967_295
"""What meters say that have not counted yet."""


class Meter:
    """An address that measures, of a module of its own or of a plug."""

    def __init__(self, where: str) -> None:
        self.written = f"{where}#0" if where.startswith("7") and "#" not in where else where
        self.power: Reading | None = None
        self.energy: Reading | None = None

    @property
    def key(self) -> Key:
        return (WHO, parse_meter(self.written) or self.written)

    @property
    def questions(self) -> tuple[Request, ...]:
        return (DimensionRequest(WHO, self.written, _POWER), DimensionRequest(WHO, self.written, _TOTAL))

    @property
    def subscriptions(self) -> tuple[Request, ...]:
        return (DimensionWriting(WHO, self.written, _UPDATES, (str(UPDATED_FOR),), _ACTIVE_POWER),)

    def hear(self, news: DimensionReading, at: float) -> tuple[str, Reading] | None:
        """What was measured, where the frame tells a measure."""
        value = to_number(news.values[0])
        if value is None or value == _NO_VALUE:
            return None
        if news.dimension == _POWER:
            self.power = Reading(float(value), Unit.WATT, at)
            return "power", self.power
        if news.dimension == _TOTAL:
            self.energy = Reading(float(value), Unit.WATT_HOUR, at)
            return "energy", self.energy
        return None


class EnergyMeter(Device):
    """A meter of its own: F520, F521, F522, F523, 3522."""

    def __init__(self, kind: DeviceKind, options: Mapping[str, Any], last: State | None) -> None:
        self._meter = Meter(str(options["where"]))
        super().__init__(kind, options, last)

    def begin(self, last: State | None) -> None:
        if isinstance(last, EnergyMeterState):
            self._meter.power, self._meter.energy = last.power, last.energy

    @property
    def keys(self) -> frozenset[Key]:
        return frozenset({self._meter.key})

    @property
    def questions(self) -> tuple[Request, ...]:
        return self._meter.questions

    @property
    def subscriptions(self) -> tuple[Request, ...]:
        return self._meter.subscriptions

    def hear(self, news: News, at: float) -> bool:
        measured = self._meter.hear(news, at) if isinstance(news, DimensionReading) else None
        if measured is None:
            return False
        self.note(*measured)
        self.state = EnergyMeterState(power=self._meter.power, energy=self._meter.energy)
        return True
