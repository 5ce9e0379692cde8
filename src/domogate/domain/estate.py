"""All that one gateway serves, as one value: what an estate file says, checked, and what the store imports and exports."""

import msgspec

from domogate.domain.ids import Id
from domogate.domain.people import Client, Subscription, User
from domogate.domain.plants import Plant, Topology
from domogate.domain.safety import SpareParts
from domogate.domain.states import State


class FirstState(msgspec.Struct, frozen=True):
    """A module's state as the estate gives it; taken only where the gateway knows none yet."""

    module_id: Id
    state: State | None = None
    reachable: bool = True


class EstatePlant(msgspec.Struct, frozen=True):
    plant: Plant
    topology: Topology
    states: tuple[FirstState, ...] = ()


class Estate(msgspec.Struct, frozen=True):
    """Passwords, client secrets and subscription keys are hashed already."""

    users: tuple[User, ...] = ()
    subscriptions: tuple[Subscription, ...] = ()
    clients: tuple[Client, ...] = ()
    plants: tuple[EstatePlant, ...] = ()
    spare_parts: tuple[SpareParts, ...] = ()
