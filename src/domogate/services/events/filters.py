"""Event filters: which events a client asks for, and which scopes can show them."""

from collections.abc import Collection

import msgspec

from domogate.domain.devices import EMERGENCY_KINDS
from domogate.domain.ids import Id
from domogate.domain.notices import NoticeKind
from domogate.domain.people import Scope
from domogate.services.rights.access import READ_SCOPE, SITE_SCOPES


class EventFilter(msgspec.Struct, frozen=True):
    """Which plants and kinds of events. An empty set does not restrict: all plants of the person, future ones too."""

    plants: frozenset[Id] = frozenset()
    kinds: frozenset[NoticeKind] = frozenset()
    present: bool = False
    """Begin with the present state of every module."""

    def wants(self, kinds: Collection[NoticeKind]) -> bool:
        return not self.kinds or not self.kinds.isdisjoint(kinds)


_STATE_SCOPES = frozenset(scope for kind, scope in READ_SCOPE.items() if kind not in EMERGENCY_KINDS)
_SAFETY_SCOPES = frozenset({Scope.SAFETY_READ})

SCOPES_OF_KIND: dict[NoticeKind, frozenset[str]] = {
    NoticeKind.STATE: _STATE_SCOPES,
    NoticeKind.REACHABILITY: _STATE_SCOPES | _SAFETY_SCOPES,
    NoticeKind.SAFETY: _SAFETY_SCOPES,
    NoticeKind.PLANT: SITE_SCOPES,
    NoticeKind.PEOPLE: SITE_SCOPES,
}


def scopes_for(kinds: Collection[NoticeKind]) -> frozenset[str]:
    """Each of these can show an event of these kinds; without kinds, of any kind."""
    return frozenset().union(*(SCOPES_OF_KIND[kind] for kind in kinds or NoticeKind))
