"""Lights, shutters and heaters."""

from domogate.domain.commands import Command, MoveShutter, SetLight, SwitchHeater
from domogate.domain.plants import Module
from domogate.domain.states import AutomationState, Color, HeaterState, LightState
from domogate.drivers.bounds import check_bounds, check_light
from domogate.drivers.simulator.device import Device, Start, Transition

_FULL_LIGHT = 9.0
_HEATER = 1200.0


def _hour(now: float) -> float:
    return now % 86_400 / 3600


class Light(Device[LightState]):
    """A dimmer, with a colour if its state has one. With the option `transition` a change takes so many seconds."""

    __slots__ = ("_from", "_lasts", "_to", "_transition")
    reports = LightState

    def __init__(self, module: Module, state: LightState | None, start: Start) -> None:
        super().__init__(module, state, start)
        self._lasts: float = self.options.get("transition", 0)
        self._from = self._to = self.state
        self._transition: Transition | None = None

    def first_state(self) -> LightState:
        color = None
        if self.random.of("has color") < 0.3:
            color = Color(
                hue=round(self.random.between("hue", 0, 360), 1),
                saturation=round(self.random.between("saturation", 0, 100), 1),
                value=round(self.random.between("value", 50, 100), 1),
            )
        return LightState(on=self.random.of("on") < 0.5, level=round(self.random.between("level", 10, 100)), color=color)

    @property
    def watts(self) -> float:
        if not self.state.on:
            return 0.0
        return _FULL_LIGHT if self.state.level is None else _FULL_LIGHT * self.state.level / 100

    @property
    def moving(self) -> bool:
        return self._transition is not None

    def evolve(self, now: float) -> None:
        self.use(self.watts, now)
        if self._transition is not None:
            part = self._transition.progress(now)
            self.state = _between(self._from, self._to, part)
            if part >= 1:
                self._transition = None
        slot = self.residents.next_visit(now)
        if slot is None:
            return
        likely_on = 0.8 if _hour(now) >= 17 or _hour(now) < 1 else 0.2
        on = self.random.of("light", slot) < likely_on
        level = self.state.level
        if on and level is not None:
            level = round(self.random.between("dim", 20, 100, slot))
        self._change_to(LightState(on=on, level=level, color=self.state.color), now)

    def execute(self, command: Command, now: float) -> None:
        if not isinstance(command, SetLight):
            raise self.refusal(command)
        check_light(command)
        # A value that the command does not name stays at the target of the running transition, not at its present value.
        target = self._to if self._transition is not None else self.state
        self._change_to(
            LightState(
                on=target.on if command.on is None else command.on,
                level=target.level if command.level is None else command.level,
                color=target.color if command.color is None else command.color,
            ),
            now,
        )
        self.residents.pause(now)

    def _change_to(self, to: LightState, now: float) -> None:
        """It is on or off at once, as real lights confirm it; level and colour change slowly while it is on."""
        begin = self.state
        if not begin.on and to.level is not None:
            begin = LightState(on=False, level=0, color=begin.color)
        if self._lasts and to.on and (begin.level, begin.color) != (to.level, to.color):
            self._from, self._to, self._transition = begin, to, Transition(self._lasts, now)
            self.state = _between(begin, to, 0.0)
        else:
            self._transition, self.state = None, to


def _between(begin: LightState, end: LightState, part: float) -> LightState:
    if part >= 1:
        return end
    level = end.level
    if level is not None and begin.level is not None:
        level = round(begin.level + (level - begin.level) * part)
    color = end.color
    if color is not None and begin.color is not None:
        # Hue is a circle: red is next to violet.
        turn = (color.hue - begin.color.hue + 180) % 360 - 180
        color = Color(
            hue=round((begin.color.hue + turn * part) % 360, 1),
            saturation=round(begin.color.saturation + (color.saturation - begin.color.saturation) * part, 1),
            value=round(begin.color.value + (color.value - begin.color.value) * part, 1),
        )
    return LightState(on=end.on, level=level, color=color)


class Shutter(Device[AutomationState]):
    """Takes `travel` seconds from closed to open. Residents open it in the day and close it at night."""

    __slots__ = ("_from", "_to", "_transition", "_whole_way")
    reports = AutomationState
    WHOLE_WAY = 18.0

    def __init__(self, module: Module, state: AutomationState | None, start: Start) -> None:
        super().__init__(module, state, start)
        self._whole_way: float = self.options.get("travel", self.WHOLE_WAY)
        self._from = self._to = self.state.position
        self._transition: Transition | None = None

    def first_state(self) -> AutomationState:
        return AutomationState(position=100 if 7 <= _hour(self.made_at) < 20 else 0)

    @property
    def openness(self) -> float:
        return self.state.position / 100

    @property
    def moving(self) -> bool:
        return self._transition is not None

    def evolve(self, now: float) -> None:
        if self._transition is not None:
            part = self._transition.progress(now)
            self.state = AutomationState(position=round(self._from + (self._to - self._from) * part))
            if part >= 1:
                self._transition = None
        slot = self.residents.next_visit(now)
        if slot is not None:
            by_day = round(self.random.between("shutter", 50, 100, slot))
            self._change_to(by_day if 7 <= _hour(now) < 20 else 0, now)

    def execute(self, command: Command, now: float) -> None:
        if not isinstance(command, MoveShutter):
            raise self.refusal(command)
        check_bounds("position", command.position, 0, 100)
        self._change_to(command.position, now)
        self.residents.pause(now)

    def _change_to(self, position: int, now: float) -> None:
        self._from, self._to = self.state.position, position
        way = self._whole_way * abs(self._to - self._from) / 100
        if way > 0:
            self._transition = Transition(way, now)
        else:
            self._transition, self.state = None, AutomationState(position=position)


class Heater(Device[HeaterState]):
    """A relay that warms its room. Residents switch it on mostly in the morning and in the evening."""

    __slots__ = ()
    reports = HeaterState

    def first_state(self) -> HeaterState:
        return HeaterState(on=self.random.of("on") < 0.5)

    @property
    def watts(self) -> float:
        return _HEATER if self.state.on else 0.0

    @property
    def warmth(self) -> float:
        return self.watts * 0.01

    def evolve(self, now: float) -> None:
        self.use(self.watts, now)
        slot = self.residents.next_visit(now)
        if slot is not None:
            likely_on = 0.8 if 5 <= _hour(now) < 9 or 17 <= _hour(now) < 23 else 0.2
            self.state = HeaterState(on=self.random.of("heater", slot) < likely_on)

    def execute(self, command: Command, now: float) -> None:
        if not isinstance(command, SwitchHeater):
            raise self.refusal(command)
        self.state = HeaterState(on=command.on)
        self.residents.pause(now)
