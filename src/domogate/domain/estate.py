"""An estate: all plants and people of a gateway in one object. The store imports and exports estates."""

from collections.abc import Iterator

import msgspec

from domogate.domain.ids import Id
from domogate.domain.people import Client, Subscription, User
from domogate.domain.plants import Ambient, Floor, Module, Plant, Topology
from domogate.domain.safety import SpareParts
from domogate.domain.states import State


class FirstState(msgspec.Struct, frozen=True):
    """A module's state in the estate. It is used only when the store has no state for the module yet."""

    module_id: Id
    state: State | None = None
    reachable: bool = True


class EstatePlant(msgspec.Struct, frozen=True):
    plant: Plant
    topology: Topology
    states: tuple[FirstState, ...] = ()

    def every_record(self) -> Iterator[Plant | Floor | Ambient | Module]:
        """Yield the plant, its floors, its ambients and its modules."""
        yield self.plant
        yield from self.topology.floors
        yield from self.topology.every_ambient()
        yield from self.topology.every_module()


class Estate(msgspec.Struct, frozen=True):
    """An estate. Its passwords, client secrets and subscription keys are already hashed."""

    users: tuple[User, ...] = ()
    subscriptions: tuple[Subscription, ...] = ()
    clients: tuple[Client, ...] = ()
    plants: tuple[EstatePlant, ...] = ()
    spare_parts: tuple[SpareParts, ...] = ()


class Mistake(msgspec.Struct, frozen=True, order=True):
    """A mistake in an estate file: its line and column (from 1), its path in the document, and what is wrong."""

    line: int
    column: int
    path: str
    problem: str
    allowed: str = ""
    hint: str = ""

    def __str__(self) -> str:
        text = f"{self.line}:{self.column} {self.path}: " if self.path else f"{self.line}:{self.column} "
        text += self.problem
        if self.allowed:
            text += f"; allowed: {self.allowed}"
        return f"{text}. {self.hint}" if self.hint else text
