"""Locks, entrance panels and activations: what is switched on for a moment and goes back by itself."""

from domogate.domain.commands import Activate, Command, OpenLock, SwitchCamera
from domogate.domain.plants import Module
from domogate.domain.states import ActivationState, CameraState, LockState
from domogate.drivers.simulator.chance import Chance
from domogate.drivers.simulator.device import Device


class Lock(Device[LockState]):
    """Closes again some seconds after it was opened."""

    __slots__ = ("_back_at",)
    reports = LockState
    STAYS_OPEN = 5.0

    def __init__(self, module: Module, state: LockState | None, chance: Chance, now: float) -> None:
        super().__init__(module, state, chance, now)
        self._back_at = now + self.STAYS_OPEN

    def first_state(self) -> LockState:
        return LockState(locked=True)

    def evolve(self, now: float) -> None:
        if not self.state.locked and now >= self._back_at:
            self.state = LockState(locked=True)

    def obey(self, command: Command, now: float) -> None:
        if not isinstance(command, OpenLock):
            raise self.refusal(command)
        self.state = LockState(locked=False)
        self._back_at = now + self.STAYS_OPEN


class Camera(Device[CameraState]):
    """Switches off by itself after a while."""

    __slots__ = ("_back_at",)
    reports = CameraState
    STAYS_ON = 60.0

    def __init__(self, module: Module, state: CameraState | None, chance: Chance, now: float) -> None:
        super().__init__(module, state, chance, now)
        self._back_at = now + self.STAYS_ON

    def first_state(self) -> CameraState:
        return CameraState(on=False)

    def evolve(self, now: float) -> None:
        if self.state.on and now >= self._back_at:
            self.state = CameraState(on=False)

    def obey(self, command: Command, now: float) -> None:
        if not isinstance(command, SwitchCamera):
            raise self.refusal(command)
        self.state = CameraState(on=command.on)
        self._back_at = now + self.STAYS_ON


class Activation(Device[ActivationState]):
    """A relay that is closed for a moment: a gate, a stair light."""

    __slots__ = ("_back_at",)
    reports = ActivationState
    STAYS_ACTIVE = 3.0

    def __init__(self, module: Module, state: ActivationState | None, chance: Chance, now: float) -> None:
        super().__init__(module, state, chance, now)
        self._back_at = now + self.STAYS_ACTIVE

    def first_state(self) -> ActivationState:
        return ActivationState(active=False)

    def evolve(self, now: float) -> None:
        if self.state.active and now >= self._back_at:
            self.state = ActivationState(active=False)

    def obey(self, command: Command, now: float) -> None:
        if not isinstance(command, Activate):
            raise self.refusal(command)
        self.state = ActivationState(active=True)
        self._back_at = now + self.STAYS_ACTIVE
