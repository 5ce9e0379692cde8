"""Lights, shutters and heaters."""

from domogate.domain.commands import Command, MoveShutter, SetLight, SwitchHeater
from domogate.domain.states import AutomationState, Color, HeaterState, LightState
from domogate.drivers.simulator.device import Device, check_bounds


def _hour(now: float) -> float:
    return now % 86_400 / 3600


class Light(Device[LightState]):
    """A dimmer, with a colour if it was given one. Residents use it mostly in the evening."""

    __slots__ = ()
    reports = LightState

    def first_state(self) -> LightState:
        color = None
        if self.chance.of("has color") < 0.3:
            color = Color(
                hue=round(self.chance.between("hue", 0, 360), 1),
                saturation=round(self.chance.between("saturation", 0, 100), 1),
                value=round(self.chance.between("value", 50, 100), 1),
            )
        return LightState(on=self.chance.of("on") < 0.5, level=round(self.chance.between("level", 10, 100)), color=color)

    def evolve(self, now: float) -> None:
        slot = self.residents.come_by(now)
        if slot is None:
            return
        likely_on = 0.8 if _hour(now) >= 17 or _hour(now) < 1 else 0.2
        on = self.chance.of("light", slot) < likely_on
        level = self.state.level
        if on and level is not None:
            level = round(self.chance.between("dim", 20, 100, slot))
        self.state = LightState(on=on, level=level, color=self.state.color)

    def obey(self, command: Command, now: float) -> None:
        if not isinstance(command, SetLight):
            raise self.refusal(command)
        check_bounds("level", command.level, 0, 100)
        if command.color is not None:
            check_bounds("hue", command.color.hue, 0, 360)
            check_bounds("saturation", command.color.saturation, 0, 100)
            check_bounds("value", command.color.value, 0, 100)
        before = self.state
        self.state = LightState(
            on=before.on if command.on is None else command.on,
            level=before.level if command.level is None else command.level,
            color=before.color if command.color is None else command.color,
        )
        self.residents.leave_alone(now)


class Shutter(Device[AutomationState]):
    """Moves at once. Residents open it by day and close it by night."""

    __slots__ = ()
    reports = AutomationState

    def first_state(self) -> AutomationState:
        return AutomationState(position=100 if 7 <= _hour(self.made_at) < 20 else 0)

    def evolve(self, now: float) -> None:
        slot = self.residents.come_by(now)
        if slot is not None:
            by_day = round(self.chance.between("shutter", 50, 100, slot))
            self.state = AutomationState(position=by_day if 7 <= _hour(now) < 20 else 0)

    def obey(self, command: Command, now: float) -> None:
        if not isinstance(command, MoveShutter):
            raise self.refusal(command)
        check_bounds("position", command.position, 0, 100)
        self.state = AutomationState(position=command.position)
        self.residents.leave_alone(now)


class Heater(Device[HeaterState]):
    """A relay. Residents want it warm in the morning and in the evening."""

    __slots__ = ()
    reports = HeaterState

    def first_state(self) -> HeaterState:
        return HeaterState(on=self.chance.of("on") < 0.5)

    def evolve(self, now: float) -> None:
        slot = self.residents.come_by(now)
        if slot is not None:
            likely_on = 0.8 if 5 <= _hour(now) < 9 or 17 <= _hour(now) < 23 else 0.2
            self.state = HeaterState(on=self.chance.of("heater", slot) < likely_on)

    def obey(self, command: Command, now: float) -> None:
        if not isinstance(command, SwitchHeater):
            raise self.refusal(command)
        self.state = HeaterState(on=command.on)
        self.residents.leave_alone(now)
