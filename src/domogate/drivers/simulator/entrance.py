"""Simulated locks, entrance panels and activations.

Each device switches itself off some seconds after it was switched on. For a lock, on means unlocked.
"""

from typing import ClassVar, TypeVar

from domogate.domain.commands import Activate, Command, OpenLock, SwitchCamera
from domogate.domain.plants import Module
from domogate.domain.states import ActivationState, CameraState, LockState
from domogate.drivers.simulator.device import Countdown, Device, Start

S = TypeVar("S", bound=LockState | CameraState | ActivationState)


class _TimedDevice(Device[S]):
    """A device that switches itself off `LASTS` seconds after it was switched on."""

    __slots__ = ("_countdown",)
    LASTS: ClassVar[float]

    def __init__(self, module: Module, state: S | None, start: Start) -> None:
        super().__init__(module, state, start)
        self._countdown = Countdown(self.LASTS, start.since)

    @property
    def moving(self) -> bool:
        return self.state != self.first_state()

    def evolve(self, now: float) -> None:
        if self.state != self.first_state() and self._countdown.is_over(now):
            self.state = self.first_state()

    def execute(self, command: Command, now: float) -> None:
        self.state = self._switched_by(command)
        self._countdown.start(now)

    def _switched_by(self, command: Command) -> S:
        raise self.refusal(command)


class Lock(_TimedDevice[LockState]):
    __slots__ = ()
    reports = LockState
    LASTS = 5.0

    def first_state(self) -> LockState:
        return LockState(locked=True)

    def _switched_by(self, command: Command) -> LockState:
        return LockState(locked=False) if isinstance(command, OpenLock) else super()._switched_by(command)


class Camera(_TimedDevice[CameraState]):
    __slots__ = ()
    reports = CameraState
    LASTS = 60.0
    moving = False

    def first_state(self) -> CameraState:
        return CameraState(on=False)

    def _switched_by(self, command: Command) -> CameraState:
        return CameraState(on=command.on) if isinstance(command, SwitchCamera) else super()._switched_by(command)


class Activation(_TimedDevice[ActivationState]):
    """A relay that is closed for some seconds, for example for a gate or a stair light."""

    __slots__ = ()
    reports = ActivationState
    LASTS = 3.0

    def first_state(self) -> ActivationState:
        return ActivationState(active=False)

    def _switched_by(self, command: Command) -> ActivationState:
        return ActivationState(active=True) if isinstance(command, Activate) else super()._switched_by(command)
