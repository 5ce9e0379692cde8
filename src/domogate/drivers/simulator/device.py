"""What every simulated device is: a state, how it moves with time, and what it does when it is told to."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

from domogate.domain.commands import Command
from domogate.domain.faults import DeviceRefused
from domogate.domain.plants import Module
from domogate.domain.states import State
from domogate.drivers.simulator.chance import Chance, Residents

S = TypeVar("S", bound=State)


class Device(ABC, Generic[S]):
    """One simulated device. `state` is replaced, never altered: who compares it sees whether it moved."""

    __slots__ = ("chance", "kind", "made_at", "options", "residents", "state")

    reports: ClassVar[type[Any]]
    """The class of state that this kind of device reports."""

    def __init__(self, module: Module, state: S | None, chance: Chance, now: float) -> None:
        self.kind = module.kind
        self.options = module.options
        self.chance = chance
        self.made_at = now
        self.residents = Residents(chance, now)
        self.state: S = self.first_state() if state is None else state

    @abstractmethod
    def first_state(self) -> S:
        """Something plausible, for a module that nothing is known of."""

    def evolve(self, now: float) -> None:
        """Let time pass until `now`, however long that is."""

    def obey(self, command: Command, now: float) -> None:  # noqa: ARG002 (those that can obey need it)
        """Carry out the command. Raises DeviceRefused."""
        raise self.refusal(command)

    def refusal(self, command: Command) -> DeviceRefused:
        return DeviceRefused(f"a module of kind {self.kind} cannot '{command.__struct_config__.tag}'")


def check_bounds(what: str, value: float | None, low: float, high: float) -> None:
    """A device refuses what is outside its bounds (Spec 8). Raises DeviceRefused."""
    if value is not None and not low <= value <= high:
        raise DeviceRefused(f"{what} must be within {low}..{high}")
