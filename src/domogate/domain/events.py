"""Events: committed changes. The read model, the streams and the webhooks receive them in the order of their cursors."""

from enum import StrEnum

import msgspec

from domogate.domain.ids import Id
from domogate.domain.reachability import Absence
from domogate.domain.states import State


class _Event(msgspec.Struct, frozen=True, gc=False, tag_field="was", kw_only=True):
    """Base of all events. When an event is stored, its field `was` names the type of the event."""


class StateChanged(_Event, tag="state", frozen=True, gc=False):
    """A report about a module was stored.

    `state` is the current state of the module. It is None if no state of the module is known.
    """

    plant_id: Id
    module_id: Id
    state: State | None
    reachable: bool
    at: float
    absence: Absence | None = None
    turned: bool = False
    """True if the module went offline or came back online with this event."""


class PlantAspect(StrEnum):
    """The part of a plant that changed."""

    FACTS = "facts"
    """The plant's data (name, address, status and so on) or topology.

    An event about an import of an estate file always names this part.
    """
    PEOPLE = "people"
    """The members or invitations of the plant."""
    FAULTS = "faults"
    """The injected faults of the plant. Applications get no notice of them."""


class PlantChanged(_Event, tag="plant", frozen=True, gc=False):
    """A plant changed. `user_ids` are the users whose list of plants may have changed."""

    plant_id: Id
    user_ids: tuple[Id, ...]
    aspect: PlantAspect = PlantAspect.FACTS
    members: tuple[Id, ...] = ()
    """The users who joined the plant, left it, or got other limits. Empty for a change by an import of an estate file."""


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


class WebhookChanged(_Event, tag="webhook", frozen=True, gc=False):
    """A webhook was registered, ended or removed, or got a new secret. Or its dead letters are tried again.

    Applications do not get this event: streams and webhooks read only events that have the field `plant_id`. So this event has
    the field `of_plant` instead.
    """

    webhook_id: Id
    of_plant: Id


class DriverConnectionChanged(_Event, tag="driver connection", frozen=True, gc=False):
    """An operator set or deleted the connection of a driver, for example the connection to an MQTT broker."""

    driver: str


class SparePartsChanged(_Event, tag="spare parts", frozen=True, gc=False):
    unit: str


class ChangesLost(_Event, tag="lost", frozen=True, gc=False):
    """This process missed changes, so anything may have changed.

    The missed changes are not stored any more. Or a newer version of Domogate wrote them, and this version cannot read them.
    This event itself is never stored.
    """


Event = (
    StateChanged
    | PlantChanged
    | UserChanged
    | ClientChanged
    | SubscriptionChanged
    | GrantRevoked
    | SigningKeysChanged
    | SparePartsChanged
    | DriverConnectionChanged
    | WebhookChanged
    | ChangesLost
)


class Change(msgspec.Struct, frozen=True, gc=False):
    """A committed event and its position in the order of all events."""

    cursor: int
    at: float
    event: Event
