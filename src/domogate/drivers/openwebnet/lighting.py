"""WHO 1: lights, and all that hangs on an actuator as a light does: plugs, heaters, locks and activations by relay."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from domogate.domain.commands import Activate, Command, OpenLock, SetLight, SwitchHeater, SwitchPlug
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceRefused
from domogate.domain.states import ActivationState, Color, HeaterState, LightState, LockState, PlugState, Reading, State
from domogate.drivers.openwebnet.addresses import parse_where
from domogate.drivers.openwebnet.device import Device, Key, Plan, check_bounds, to_numbers
from domogate.drivers.openwebnet.energy import Meter
from domogate.drivers.openwebnet.frames import (
    DimensionReading,
    DimensionRequest,
    DimensionWriting,
    News,
    Normal,
    Request,
    StatusRequest,
)

WHO = 1
OFF, ON = 0, 1
LEVELS = range(2, 11)
"""20 % to 100 %."""

PULSES: Mapping[float, int] = MappingProxyType({0.5: 18, 30: 17, 60: 11, 120: 12, 180: 13, 240: 14, 300: 15, 900: 16})
"""For how many seconds an actuator switches on by itself, and the WHAT that says so."""
_TIMED = frozenset(PULSES.values())
_BLINKING = range(20, 30)
_STEPS = (30, 31)
"""One level up, one level down."""

_LEVEL, _LEVEL_AND_SPEED, _COLOR = 1, 4, 12
_DEFAULT_SPEED = "255"


class Actuator(Device):
    """What is on or off."""

    def __init__(self, kind: DeviceKind, options: Mapping[str, Any], last: State | None) -> None:
        self.written = str(options["where"])
        where = parse_where(self.written)
        assert where is not None  # the options were checked
        self.where = where
        self.groups = frozenset(options.get("groups", ()))
        self.times_shown = 0
        """How often the actuator itself told its state; a meter beside it knows nothing of that."""
        super().__init__(kind, options, last)

    @property
    def keys(self) -> frozenset[Key]:
        return frozenset({(WHO, self.where.key)})

    @property
    def questions(self) -> tuple[Request, ...]:
        return (StatusRequest(WHO, self.written),)

    def concerns(self, where: str) -> bool:
        address = parse_where(where)
        return address is not None and address.concerns(self.where, self.groups)

    def hear(self, news: News, at: float) -> bool:
        return isinstance(news, Normal) and news.who == WHO and self._switched(news.what, at)

    def overhear(self, command: Normal, at: float) -> bool:
        return self._switched(command.what, at)

    def must_be_asked(self, news: News) -> bool:
        return isinstance(news, Normal) and news.what in _STEPS

    def _switched(self, what: int, at: float) -> bool:
        if what == OFF:
            self.show(on=False, level=None, at=at)
        elif what == ON or what in _TIMED or what in _BLINKING:
            self.show(on=True, level=None, at=at)
        elif what in LEVELS:
            self.show(on=True, level=what * 10, at=at)
        else:
            return False
        self.times_shown += 1
        return True

    def show(self, *, on: bool, level: int | None, at: float) -> None:
        """Be in this state; `level` is None where none was told."""
        raise NotImplementedError

    def switching(self, on: bool) -> Plan:
        before = self.times_shown
        request = Normal(WHO, ON if on else OFF, self.written)
        return Plan((request,), lambda: self.times_shown > before and getattr(self.state, "on", None) is on)


class Light(Actuator):
    """A lamp: switched, dimmed in steps of ten or of one, or in colours."""

    @property
    def levels(self) -> int:
        return int(self.options.get("levels", 1))

    @property
    def has_color(self) -> bool:
        return bool(self.options.get("color", False))

    def begin(self, last: State | None) -> None:
        self._color: Color | None = last.color if isinstance(last, LightState) else None
        self._level: int | None = last.level or None if isinstance(last, LightState) and self.levels > 1 else None

    @property
    def questions(self) -> tuple[Request, ...]:
        if self.has_color:
            return (StatusRequest(WHO, self.written), DimensionRequest(WHO, self.written, _COLOR))
        if self.levels == 100:
            return (DimensionRequest(WHO, self.written, _LEVEL),)
        return super().questions

    def hear(self, news: News, at: float) -> bool:
        if not isinstance(news, DimensionReading):
            return super().hear(news, at)
        numbers = to_numbers(news.values)
        if not numbers:
            return False
        if news.dimension in (_LEVEL, _LEVEL_AND_SPEED) and 100 <= numbers[0] <= 200:
            self._show_exactly(numbers[0] - 100, at)
            return True
        if news.dimension == _COLOR and len(numbers) >= 3:
            hue, saturation, value = numbers[:3]
            if hue <= 360 and saturation <= 100 and value <= 100:
                self._color = Color(float(hue), float(saturation), float(value))
                self._show_exactly(value, at)
                return True
        return False

    def _show_exactly(self, level: int, at: float) -> None:
        self.times_shown += 1
        self._level = level or self._level
        self.show(on=level > 0, level=None, at=at)

    def show(self, *, on: bool, level: int | None, at: float) -> None:  # noqa: ARG002 (a lamp's state has no date)
        # A dimmer of a hundred levels also tells its level in tens: that says nothing new where it is the same one.
        if level is not None and not (self.levels == 100 and self._level is not None and level == _tens(self._level)):
            self._level = level
        color = self._color if self.has_color else None
        dimmed = self.levels > 1 or self.has_color or self._level is not None
        self.state = LightState(on=on, level=(self._level if on else 0) if dimmed else None, color=color)

    def plan(self, command: Command) -> Plan:
        if not isinstance(command, SetLight):
            raise self.refusal(command)
        check_bounds("level", command.level, 0, 100)
        if command.color is not None:
            check_bounds("hue", command.color.hue, 0, 360)
            check_bounds("saturation", command.color.saturation, 0, 100)
            check_bounds("value", command.color.value, 0, 100)
        if command == SetLight():
            return Plan((), lambda: True)  # all stays as it is
        if command.on is False or command.level == 0:
            return self.switching(False)
        if command.color is not None:
            return self._coloring(command.color, command.level)
        if command.level is not None:
            return self._dimming(command.level)
        return self.switching(True)

    def _coloring(self, color: Color, level: int | None) -> Plan:
        if not self.has_color:
            raise DeviceRefused("this light is not set up for colours")
        wanted = Color(float(round(color.hue) % 360), float(round(color.saturation)), float(level or round(color.value)))
        values = tuple(f"{round(value)}" for value in (wanted.hue, wanted.saturation, wanted.value))
        request = DimensionWriting(WHO, self.written, _COLOR, values)
        return Plan((request,), lambda: isinstance(self.state, LightState) and self.state.color == wanted)

    def _dimming(self, level: int) -> Plan:
        if self.has_color and self._color is not None:
            return self._coloring(self._color, level)
        if self.levels == 100 or self.has_color:
            request: Request = DimensionWriting(WHO, self.written, _LEVEL, (str(100 + level), _DEFAULT_SPEED))
        elif self.levels == 10:
            level = _tens(level)
            request = Normal(WHO, level // 10, self.written)
        else:
            raise DeviceRefused("this light is not set up for levels")
        return Plan((request,), lambda: isinstance(self.state, LightState) and self.state.on and self.state.level == level)


class Plug(Actuator):
    """A socket or load, with a meter where its options name one."""

    def __init__(self, kind: DeviceKind, options: Mapping[str, Any], last: State | None) -> None:
        self._meter = Meter(str(options["meter"])) if "meter" in options else None
        super().__init__(kind, options, last)

    @property
    def keys(self) -> frozenset[Key]:
        return super().keys if self._meter is None else super().keys | {self._meter.key}

    @property
    def questions(self) -> tuple[Request, ...]:
        return super().questions if self._meter is None else (*super().questions, *self._meter.questions)

    @property
    def subscriptions(self) -> tuple[Request, ...]:
        return () if self._meter is None else self._meter.subscriptions

    def hear(self, news: News, at: float) -> bool:
        if self._meter is None or not isinstance(news, DimensionReading):
            return super().hear(news, at)
        measured = self._meter.hear(news, at)
        if measured is None:
            return False
        self.note(*measured)
        if not isinstance(self.state, PlugState):
            return False  # what it measures does not say whether it is on
        self.show(on=self.state.on, level=None, at=at)
        return True

    def show(self, *, on: bool, level: int | None, at: float) -> None:  # noqa: ARG002 (not all have levels)
        power = self._meter.power if self._meter else None
        energy = self._meter.energy if self._meter else None
        self.state = PlugState(on=on, power=_within(power), energy=_within(energy))

    def plan(self, command: Command) -> Plan:
        if not isinstance(command, SwitchPlug):
            raise self.refusal(command)
        return self.switching(command.on)


class Heater(Actuator):
    """A heater on a relay."""

    def show(self, *, on: bool, level: int | None, at: float) -> None:  # noqa: ARG002 (not all have levels)
        self.state = HeaterState(on=on)

    def plan(self, command: Command) -> Plan:
        if not isinstance(command, SwitchHeater):
            raise self.refusal(command)
        return self.switching(command.on)


class Relay(Actuator):
    """A relay that closes for a moment: an electric lock, a gate."""

    @property
    def seconds(self) -> float:
        return float(self.options.get("seconds", 0.5))

    def show(self, *, on: bool, level: int | None, at: float) -> None:  # noqa: ARG002 (not all have levels)
        self.state = LockState(locked=not on) if self.kind is DeviceKind.LOCK else ActivationState(active=on)

    def plan(self, command: Command) -> Plan:
        wanted = OpenLock if self.kind is DeviceKind.LOCK else Activate
        if not isinstance(command, wanted):
            raise self.refusal(command)
        # Half a second is over before anybody could ask: that the gateway took it is what there is to know.
        request = Normal(WHO, PULSES[self.seconds], self.written)
        return Plan((request,), on_ack=lambda at: self.show(on=True, level=None, at=at), ask_after=self.seconds + 1.0)


def _tens(level: int) -> int:
    """The nearest level that a dimmer of ten has: 20 % is the least."""
    return max(20, min(100, (level + 5) // 10 * 10))


def _within(reading: Reading | None) -> Reading | None:
    """A plug's consumption has an upper bound in the contract (Spec 2.13); beyond it the value is history only."""
    return reading if reading is not None and reading.value <= 100_000 else None
