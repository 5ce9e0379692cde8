"""An estate: all plants and people of a gateway in one object. The store imports and exports it."""

import msgspec

from domogate.domain.ids import Id
from domogate.domain.people import Client, Subscription, User
from domogate.domain.plants import Plant, Topology
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


class Estate(msgspec.Struct, frozen=True):
    """An estate. Its passwords, client secrets and subscription keys are already hashed."""

    users: tuple[User, ...] = ()
    subscriptions: tuple[Subscription, ...] = ()
    clients: tuple[Client, ...] = ()
    plants: tuple[EstatePlant, ...] = ()
    spare_parts: tuple[SpareParts, ...] = ()
