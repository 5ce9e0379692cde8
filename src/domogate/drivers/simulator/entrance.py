"""Locks, entrance panels and activations: what is switched on for a moment and goes back by itself."""

from domogate.domain.commands import Activate, Command, OpenLock, SwitchCamera
from domogate.domain.plants import Module
from domogate.domain.states import ActivationState, CameraState, LockState
from domogate.drivers.simulator.device import Countdown, Device, Start


class Lock(Device[LockState]):
    """Closes again some seconds after it was opened."""

    __slots__ = ("_back",)
    reports = LockState
    STAYS_OPEN = 5.0

    def __init__(self, module: Module, state: LockState | None, start: Start) -> None:
        super().__init__(module, state, start)
        self._back = Countdown(self.STAYS_OPEN, start.now)

    def first_state(self) -> LockState:
        return LockState(locked=True)

    @property
    def moving(self) -> bool:
        return not self.state.locked

    def evolve(self, now: float) -> None:
        if not self.state.locked and self._back.is_over(now):
            self.state = LockState(locked=True)

    def obey(self, command: Command, now: float) -> None:
        if not isinstance(command, OpenLock):
            raise self.refusal(command)
        self.state = LockState(locked=False)
        self._back.start(now)


class Camera(Device[CameraState]):
    """Switches off by itself after a while."""

    __slots__ = ("_back",)
    reports = CameraState
    STAYS_ON = 60.0

    def __init__(self, module: Module, state: CameraState | None, start: Start) -> None:
        super().__init__(module, state, start)
        self._back = Countdown(self.STAYS_ON, start.now)

    def first_state(self) -> CameraState:
        return CameraState(on=False)

    def evolve(self, now: float) -> None:
        if self.state.on and self._back.is_over(now):
            self.state = CameraState(on=False)

    def obey(self, command: Command, now: float) -> None:
        if not isinstance(command, SwitchCamera):
            raise self.refusal(command)
        self.state = CameraState(on=command.on)
        self._back.start(now)


class Activation(Device[ActivationState]):
    """A relay that is closed for a moment: a gate, a stair light."""

    __slots__ = ("_back",)
    reports = ActivationState
    STAYS_ACTIVE = 3.0

    def __init__(self, module: Module, state: ActivationState | None, start: Start) -> None:
        super().__init__(module, state, start)
        self._back = Countdown(self.STAYS_ACTIVE, start.now)

    def first_state(self) -> ActivationState:
        return ActivationState(active=False)

    @property
    def moving(self) -> bool:
        return self.state.active

    def evolve(self, now: float) -> None:
        if self.state.active and self._back.is_over(now):
            self.state = ActivationState(active=False)

    def obey(self, command: Command, now: float) -> None:
        if not isinstance(command, Activate):
            raise self.refusal(command)
        self.state = ActivationState(active=True)
        self._back.start(now)
