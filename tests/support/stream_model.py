"""The sessions and changes in the model of event streams, and the values that they are drawn from."""

from dataclasses import dataclass, field

from domogate.domain.devices import DeviceKind
from domogate.domain.notices import NoticeKind
from domogate.domain.people import Scope
from domogate.domain.plants import Plant
from domogate.services.events.filters import EventFilter
from support.stream_setup import Credentials, Listener

USERS, PLANTS = 3, 3
KINDS = (DeviceKind.LIGHT, DeviceKind.PLUG, DeviceKind.EMERGENCY_CONTROLLER)
SCOPE_OF = {
    DeviceKind.LIGHT: Scope.LIGHT_READ,
    DeviceKind.PLUG: Scope.PLUG_READ,
    DeviceKind.EMERGENCY_CONTROLLER: Scope.SAFETY_READ,
}
SCOPES = ((*Scope,), (Scope.LIGHT_READ,), (Scope.PLUG_READ, Scope.TOPOLOGY_READ), (Scope.SAFETY_READ,))
KIND_FILTERS = (frozenset[NoticeKind](), frozenset({NoticeKind.STATE}), frozenset({NoticeKind.SAFETY, NoticeKind.PEOPLE}))


@dataclass(frozen=True)
class ModelChange:
    """A change in the model, with the kinds and scopes of its event."""

    cursor: int
    plant: int
    kinds: frozenset[NoticeKind]
    scopes: frozenset[str]


@dataclass
class Session:
    """One application that reconnects with the id of the last event."""

    user: int
    event_filter: EventFilter
    credentials: Credentials = field(repr=False)
    since: int = 0
    """The cursor at its first connection."""
    last_id: int = 0
    """Sent as Last-Event-ID."""
    received: list[int] = field(default_factory=list)
    listener: Listener | None = field(default=None, repr=False)

    @property
    def connected(self) -> bool:
        return self.listener is not None and not self.listener.ended

    def wants(self, happened: ModelChange, plant: Plant) -> bool:
        return (
            (not self.event_filter.plants or plant.id in self.event_filter.plants)
            and (not self.event_filter.kinds or bool(self.event_filter.kinds & happened.kinds))
            and bool(happened.scopes & set(self.credentials.grant.scopes))
        )
