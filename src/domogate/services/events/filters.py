"""Event filters: the events that a client asks for, and the scopes with which a client may get these events."""

from collections.abc import Collection

import msgspec

from domogate.domain.devices import EMERGENCY_KINDS
from domogate.domain.ids import Id
from domogate.domain.notices import NoticeKind
from domogate.domain.people import HOME_SCOPE, Scope
from domogate.services.rights.access import READ_SCOPE, SITE_SCOPES


class EventFilter(msgspec.Struct, frozen=True):
    """The plants and kinds of events that a client asks for. An empty set of kinds means all kinds.

    An empty set of plants means all plants of the user, including plants that the user gets later. In the stream of an
    operator, it means all plants of the gateway.
    """

    plants: frozenset[Id] = frozenset()
    kinds: frozenset[NoticeKind] = frozenset()
    present: bool = False
    """True if the stream begins with the present state of every module that the client may see."""

    def wants(self, kinds: Collection[NoticeKind]) -> bool:
        return not self.kinds or not self.kinds.isdisjoint(kinds)


_STATE_SCOPES = frozenset((HOME_SCOPE, *(scope for kind, scope in READ_SCOPE.items() if kind not in EMERGENCY_KINDS)))
_SAFETY_SCOPES = frozenset({Scope.SAFETY_READ, HOME_SCOPE})

SCOPES_OF_KIND: dict[NoticeKind, frozenset[str]] = {
    NoticeKind.STATE: _STATE_SCOPES,
    NoticeKind.REACHABILITY: _STATE_SCOPES | _SAFETY_SCOPES,
    NoticeKind.SAFETY: _SAFETY_SCOPES,
    NoticeKind.PLANT: SITE_SCOPES,
    NoticeKind.PEOPLE: SITE_SCOPES,
}


def scopes_for(kinds: Collection[NoticeKind]) -> frozenset[str]:
    """Return the scopes with which a client may get an event of at least one of these kinds.

    One of these scopes is enough. An empty set of kinds means all kinds.
    """
    return frozenset().union(*(SCOPES_OF_KIND[kind] for kind in kinds or NoticeKind))
