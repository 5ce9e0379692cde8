"""WHO 1: lights, and other devices that an actuator for lights switches: plugs, heaters, locks and activations."""

from abc import abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from domogate.domain.commands import Activate, Command, OpenLock, SetLight, SwitchHeater, SwitchPlug
from domogate.domain.devices import DeviceKind
from domogate.domain.states import (
    ActivationState,
    Color,
    HeaterState,
    LightState,
    LightTarget,
    LockState,
    PlugState,
    Reading,
    State,
)
from domogate.drivers.bounds import check_light, light_after
from domogate.drivers.openwebnet.device import Key, Plan, PointDevice, to_numbers
from domogate.drivers.openwebnet.energy import Meter
from domogate.drivers.openwebnet.frames import (
    DimensionReading,
    DimensionRequest,
    DimensionWriting,
    Event,
    Normal,
    Request,
    StatusRequest,
)

WHO = 1
OFF, ON = 0, 1
LEVELS = range(2, 11)
"""The WHAT of each level of a dimmer with steps of 10 %: 2 is 20 %, 10 is 100 %. There is no 10 %, because WHAT 1 means on."""

PULSES: Mapping[float, int] = MappingProxyType({0.5: 18, 30: 17, 60: 11, 120: 12, 180: 13, 240: 14, 300: 15, 900: 16})
"""For each number of seconds: the WHAT of the command that switches an actuator on for this time."""
_TIMED = frozenset(PULSES.values())
_BLINKING = range(20, 30)
_STEPS = (30, 31)
"""The WHAT of "one level up" and of "one level down"."""

_LEVEL, _LEVEL_AND_SPEED, _COLOR = 1, 4, 12
_DEFAULT_SPEED = "255"


class Actuator(PointDevice):
    """An actuator of the bus together with the device that it switches, such as a light or a plug."""

    who = WHO

    def __init__(self, kind: DeviceKind, options: Mapping[str, Any], last: State | None) -> None:
        self.state_count = 0
        """How many times the actuator itself reported its state. Frames of its meter do not count."""
        super().__init__(kind, options, last)

    def restore(self, _last: State | None) -> None:
        """Do nothing: the stored state is not used, because the driver reads the state of the actuator from the bus."""

    def receive(self, event: Event, _at: float) -> bool:
        return isinstance(event, Normal) and event.who == WHO and self._receive_what(event.what)

    def receive_command(self, command: Normal, _at: float) -> bool:
        return self._receive_what(command.what)

    def must_be_read(self, event: Event) -> bool:
        return isinstance(event, Normal) and event.what in _STEPS

    def _receive_what(self, what: int) -> bool:
        if what == OFF:
            self.set_state(False)
        elif what == ON or what in _TIMED or what in _BLINKING:
            self.set_state(True)
        elif what in LEVELS:
            self.set_state(True, what * 10)
        else:
            return False
        self.state_count += 1
        return True

    @abstractmethod
    def set_state(self, on: bool, level: int | None = None) -> None:
        """Set the state that a frame contains. `level` is None if the frame has no level."""

    def plan_switch(self, on: bool) -> Plan:
        before = self.state_count
        request = Normal(WHO, ON if on else OFF, self.where_text)
        return Plan((request,), lambda: self.state_count > before and getattr(self.state, "on", None) is on)


class Light(Actuator):
    """A lamp. It can be switched, it may have 10 or 100 levels, and it may have colours."""

    @property
    def levels(self) -> int:
        return int(self.options.get("levels", 100 if self.has_color else 1))

    @property
    def has_color(self) -> bool:
        return bool(self.options.get("color", False))

    def restore(self, last: State | None) -> None:
        self._color: Color | None = None
        self._level: int | None = None
        self._preset: LightTarget | None = None
        """The level and colour that were ordered while the light was off. They are sent when the light is switched on."""
        if isinstance(last, LightState):
            self._color = last.color if self.has_color else None
            self._level = last.level or None if self.has_levels else None
            self._preset = last.target if self.has_levels and not last.on else None

    @property
    def has_levels(self) -> bool:
        return self.levels > 1

    @property
    def read_requests(self) -> tuple[Request, ...]:
        if self.has_color:
            return (StatusRequest(WHO, self.where_text), DimensionRequest(WHO, self.where_text, _COLOR))
        if self.levels == 100:
            return (DimensionRequest(WHO, self.where_text, _LEVEL),)
        return super().read_requests

    def receive(self, event: Event, at: float) -> bool:
        if not isinstance(event, DimensionReading):
            return super().receive(event, at)
        numbers = to_numbers(event.values)
        if not numbers:
            return False
        if event.dimension in (_LEVEL, _LEVEL_AND_SPEED) and 100 <= numbers[0] <= 200:
            self._set_exact_level(numbers[0] - 100)
            return True
        if event.dimension == _COLOR and len(numbers) >= 3:
            hue, saturation, value = numbers[:3]
            if hue <= 360 and saturation <= 100 and value <= 100:
                self._color = Color(float(hue), float(saturation), float(value))
                self._set_exact_level(value)
                return True
        return False

    def _set_exact_level(self, level: int) -> None:
        self.state_count += 1
        self._level = level or self._level
        self.set_state(level > 0)

    def set_state(self, on: bool, level: int | None = None) -> None:
        # A dimmer with a hundred levels also reports its level in tens. Ignore this report if it is the same level.
        if level is not None and not (self.levels == 100 and self._level is not None and level == _tens(self._level)):
            self._level = level
        if self._color is not None and self._level is not None:  # The level and the value of the colour are the same.
            self._color = msgspec.structs.replace(self._color, value=float(self._level))
        if on:
            self._preset = None
        shown = self._preset or LightTarget(self._level if on else self._level or 0, self._color if self.has_color else None)
        has_levels = self.has_levels or self._level is not None
        self.state = LightState(on=on, level=shown.level if has_levels else None, color=shown.color, target=self._preset)

    def plan(self, command: Command) -> Plan:
        if not isinstance(command, SetLight):
            raise self.refusal(command)
        check_light(command, has_levels=self.has_levels, has_colors=self.has_color)
        before = self.state if isinstance(self.state, LightState) else LightState(on=True, level=self._level, color=self._color)
        after = light_after(command, before)
        if not after.on:
            return self._plan_off(command, after, send=before.on or command.on is False or not command.brightness)
        if command.brightness is None and self._preset is None:
            return self.plan_switch(True)
        if after.color is not None:
            return self._plan_color(after.color, after.level)
        assert after.level is not None  # the command or the preset has it
        return self._plan_level(after.level)

    def _plan_off(self, command: SetLight, after: LightState, *, send: bool) -> Plan:
        """Return the plan for a light that is off after the command.

        The bus cannot set the level of a light that is off. So this object keeps the level, and sends it when the light is
        switched on. If `send` is false, the light is already off, so nothing is sent.
        """

        def keep_preset() -> None:
            level = _tens(after.level) if self.levels == 10 and after.level else after.level
            self._preset = LightTarget(level, after.color)
            self.set_state(False)

        on_done = keep_preset if command.brightness else None
        if not send:
            return Plan((), on_done=on_done)
        plan = self.plan_switch(False)
        return Plan(plan.requests, plan.is_confirmed, on_done=on_done)

    def needs_state(self, command: Command) -> bool:
        return self.state is None and isinstance(command, SetLight) and command.on is None

    def _plan_color(self, color: Color, level: int | None) -> Plan:
        wanted = Color(float(round(color.hue) % 360), float(round(color.saturation)), float(level or round(color.value)))
        values = tuple(f"{round(value)}" for value in (wanted.hue, wanted.saturation, wanted.value))
        request = DimensionWriting(WHO, self.where_text, _COLOR, values)
        return Plan((request,), lambda: isinstance(self.state, LightState) and self.state.on and self.state.color == wanted)

    def _plan_level(self, level: int) -> Plan:
        if self.levels == 100:
            request: Request = DimensionWriting(WHO, self.where_text, _LEVEL, (str(100 + level), _DEFAULT_SPEED))
        else:
            level = _tens(level)
            request = Normal(WHO, level // 10, self.where_text)
        return Plan((request,), lambda: isinstance(self.state, LightState) and self.state.on and self.state.level == level)


class Plug(Actuator):
    """A plug: a switched socket or electrical appliance. It has a meter if its options name a meter."""

    def __init__(self, kind: DeviceKind, options: Mapping[str, Any], last: State | None) -> None:
        self._meter = Meter(str(options["meter"])) if "meter" in options else None
        super().__init__(kind, options, last)

    @property
    def keys(self) -> frozenset[Key]:
        return super().keys if self._meter is None else super().keys | {self._meter.key}

    @property
    def read_requests(self) -> tuple[Request, ...]:
        return super().read_requests if self._meter is None else (*super().read_requests, *self._meter.read_requests)

    @property
    def subscriptions(self) -> tuple[Request, ...]:
        return () if self._meter is None else self._meter.subscriptions

    def receive(self, event: Event, at: float) -> bool:
        if self._meter is None or not isinstance(event, DimensionReading):
            return super().receive(event, at)
        measured = self._meter.receive(event, at)
        if measured is None:
            return False
        self.add_reading(*measured)
        if not isinstance(self.state, PlugState):
            return False  # A reading does not show whether the plug is on.
        self.set_state(self.state.on)
        return True

    def set_state(self, on: bool, _level: int | None = None) -> None:
        power = self._meter.power if self._meter else None
        energy = self._meter.energy if self._meter else None
        self.state = PlugState(on=on, power=_within(power), energy=_within(energy))

    def plan(self, command: Command) -> Plan:
        if not isinstance(command, SwitchPlug):
            raise self.refusal(command)
        return self.plan_switch(command.on)


class Heater(Actuator):
    """A heater that a relay switches on and off."""

    def set_state(self, on: bool, _level: int | None = None) -> None:
        self.state = HeaterState(on=on)

    def plan(self, command: Command) -> Plan:
        if not isinstance(command, SwitchHeater):
            raise self.refusal(command)
        return self.plan_switch(command.on)


class Relay(Actuator):
    """A relay that closes for some time, as for an electric lock or a gate."""

    @property
    def seconds(self) -> float:
        return float(self.options.get("seconds", 0.5))

    def set_state(self, on: bool, _level: int | None = None) -> None:
        self.state = LockState(locked=not on) if self.kind is DeviceKind.LOCK else ActivationState(active=on)

    def plan(self, command: Command) -> Plan:
        wanted = OpenLock if self.kind is DeviceKind.LOCK else Activate
        if not isinstance(command, wanted):
            raise self.refusal(command)
        # The relay may close for only half a second, too short to read it. So the ACK of the gateway is the only confirmation.
        request = Normal(WHO, PULSES[self.seconds], self.where_text)
        return Plan((request,), on_done=lambda: self.set_state(True), read_after=self.seconds + 1.0)


def _tens(level: int) -> int:
    """Return the nearest level of a dimmer that has only the levels 20, 30, … 100 %."""
    return max(20, min(100, (level + 5) // 10 * 10))


def _within(reading: Reading | None) -> Reading | None:
    """Return the reading, or None if it is above the limit of Spec 2.13 for a plug.

    Readings above the limit are stored only in the history.
    """
    return reading if reading is not None and reading.value <= 100_000 else None
