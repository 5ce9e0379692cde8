"""Facts: what was committed. One growing cursor for all of them feeds the read model, the streams and the webhooks."""

from enum import StrEnum

import msgspec

from domogate.domain.ids import Id
from domogate.domain.reachability import Absence
from domogate.domain.states import State


class _Event(msgspec.Struct, frozen=True, gc=False, tag_field="was", kw_only=True):
    """Base of all events: the tag `was` tells them apart where they are stored."""


class StateChanged(_Event, tag="state", frozen=True, gc=False):
    """A module reported; `state` is what it is in now, None when it never reported one."""

    plant_id: Id
    module_id: Id
    state: State | None
    reachable: bool
    at: float
    absence: Absence | None = None
    turned: bool = False
    """Whether it can be reached changed with this."""


class PlantAspect(StrEnum):
    """What of a plant changed."""

    FACTS = "facts"
    """Its name, its status, what stands in it."""
    PEOPLE = "people"
    """Who may see it."""
    FAULTS = "faults"
    """Which faults are injected: nothing an application is told of."""


class PlantChanged(_Event, tag="plant", frozen=True, gc=False):
    """A plant's facts, people or topology changed. `user_ids` are all whose list of plants may differ now."""

    plant_id: Id
    user_ids: tuple[Id, ...]
    aspect: PlantAspect = PlantAspect.FACTS


class UserChanged(_Event, tag="user", frozen=True, gc=False):
    user_id: Id


class ClientChanged(_Event, tag="client", frozen=True, gc=False):
    client_id: str


class SubscriptionChanged(_Event, tag="subscription", frozen=True, gc=False):
    key_hash: str


class GrantRevoked(_Event, tag="grant", frozen=True, gc=False):
    grant_id: Id


class SigningKeysChanged(_Event, tag="signing keys", frozen=True, gc=False):
    pass


class SparePartsChanged(_Event, tag="spare parts", frozen=True, gc=False):
    unit: str


Event = (
    StateChanged
    | PlantChanged
    | UserChanged
    | ClientChanged
    | SubscriptionChanged
    | GrantRevoked
    | SigningKeysChanged
    | SparePartsChanged
)


class Change(msgspec.Struct, frozen=True, gc=False):
    """One committed event and its place in the order of all."""

    cursor: int
    at: float
    event: Event
