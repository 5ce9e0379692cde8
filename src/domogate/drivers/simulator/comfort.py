"""Simulated lights, shutters and heaters."""

import msgspec

from domogate.domain.commands import Command, MoveShutter, SetLight, SwitchHeater
from domogate.domain.plants import Module
from domogate.domain.states import AutomationState, Color, HeaterState, LightState, LightTarget
from domogate.drivers.bounds import check_bounds, check_light, light_after
from domogate.drivers.simulator.device import Device, Start, Transition

_FULL_LIGHT = 9.0
_HEATER = 1200.0


def _hour(now: float) -> float:
    return now % 86_400 / 3600


class Light(Device[LightState]):
    """A light. It has levels or colours if its stored state has a level or a colour.

    Without a stored state, the light has levels, and the seed decides whether it has colours.
    The option `transition` is the number of seconds that a change takes.
    """

    __slots__ = ("_from", "_lasts", "_to", "_transition")
    reports = LightState

    def __init__(self, module: Module, state: LightState | None, start: Start) -> None:
        super().__init__(module, state, start)
        self._lasts: float = self.options.get("transition", 0)
        target = self.state.target
        self._from = self._to = self.state = msgspec.structs.replace(self.state, target=None)
        self._transition: Transition | None = None
        if target is not None and target.ends_at is not None:  # A restart interrupted the transition.
            self._to = LightState(on=self.state.on, level=target.level, color=target.color)
            left = self.time_scale.simulated(target.ends_at) - start.now
            self._transition = Transition(min(max(left, 0.0), self._lasts), start.now)
            self._continue(self._transition, start.now)

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
            self._continue(self._transition, now)
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
        # A value that is not in the command gets the target of the running transition, not its present value.
        before = self.state if self._transition is None else self._to
        has_colors = before.color is not None
        check_light(command, has_levels=has_colors or before.level is not None, has_colors=has_colors)
        self._change_to(light_after(command, before), now)
        self.residents.pause(now)

    def _change_to(self, to: LightState, now: float) -> None:
        """Change the light to this state.

        Switching on or off happens immediately, because real lights also confirm this immediately. While the light is on, its
        level and colour change slowly.
        """
        begin = self.state
        if not begin.on and to.level is not None:
            begin = LightState(on=False, level=0, color=begin.color)
        self._from, self._to, self._transition = begin, to, None
        if self._lasts and to.on and (begin.level, begin.color) != (to.level, to.color):
            self._transition = Transition(self._lasts, now)
            self._continue(self._transition, now)
        else:
            self.state = to

    def _continue(self, transition: Transition, now: float) -> None:
        part = transition.progress(now)
        if part >= 1:
            self._transition, self.state = None, self._to
            return
        target = LightTarget(self._to.level, self._to.color, self.time_scale.real(transition.ends_at))
        self.state = msgspec.structs.replace(_between(self._from, self._to, part), target=target)


def _between(begin: LightState, end: LightState, part: float) -> LightState:
    level = end.level
    if level is not None and begin.level is not None:
        level = max(1, round(begin.level + (level - begin.level) * part))
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
    """A shutter. Residents open it in the day and close it at night.

    The option `travel` is the number of seconds that it needs to open fully.
    """

    __slots__ = ("_from", "_to", "_transition", "_whole_way")
    reports = AutomationState
    WHOLE_WAY = 18.0

    def __init__(self, module: Module, state: AutomationState | None, start: Start) -> None:
        super().__init__(module, state, start)
        self._whole_way: float = self.options.get("travel", self.WHOLE_WAY)
        self._from = self._to = self.state.position
        self._transition: Transition | None = None
        if self.state.target is not None:  # A restart interrupted the movement.
            self._change_to(self.state.target, start.now)

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
            self._continue(self._transition, now)
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
        self._transition = Transition(self._whole_way * abs(self._to - self._from) / 100, now)
        self._continue(self._transition, now)

    def _continue(self, transition: Transition, now: float) -> None:
        part = transition.progress(now)
        if part >= 1:
            self._transition, self.state = None, AutomationState(position=self._to)
        else:
            position = round(self._from + (self._to - self._from) * part)
            self.state = AutomationState(position=position, target=self._to)


class Heater(Device[HeaterState]):
    """A heater, which warms its room. Residents usually switch it on in the morning and in the evening."""

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
