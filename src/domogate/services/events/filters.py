"""What a listener asks to be told of, and which scopes could ever show it."""

from collections.abc import Collection

import msgspec

from domogate.domain.ids import Id
from domogate.domain.notices import SAFETY_KINDS, NoticeKind
from domogate.domain.people import Scope
from domogate.services.events.rights import PLANT_SCOPES, READ_SCOPE


class EventFilter(msgspec.Struct, frozen=True):
    """Whose events, and which. None of either is no restriction: all plants of the person, those they gain too."""

    plants: frozenset[Id] = frozenset()
    kinds: frozenset[NoticeKind] = frozenset()
    present: bool = False
    """Begin with what everything is in now."""

    def wants(self, kinds: Collection[NoticeKind]) -> bool:
        return not self.kinds or not self.kinds.isdisjoint(kinds)


_STATE_SCOPES = frozenset(scope for kind, scope in READ_SCOPE.items() if kind not in SAFETY_KINDS)
_SAFETY_SCOPES = frozenset({Scope.SAFETY_READ})

SCOPES_OF_KIND: dict[NoticeKind, frozenset[str]] = {
    NoticeKind.STATE: _STATE_SCOPES,
    NoticeKind.REACHABILITY: _STATE_SCOPES | _SAFETY_SCOPES,
    NoticeKind.SAFETY: _SAFETY_SCOPES,
    NoticeKind.PLANT: PLANT_SCOPES | _SAFETY_SCOPES,
    NoticeKind.PEOPLE: PLANT_SCOPES | _SAFETY_SCOPES,
}


def scopes_for(kinds: Collection[NoticeKind]) -> frozenset[str]:
    """Without any of these nothing of what is asked could ever be told."""
    return frozenset().union(*(SCOPES_OF_KIND[kind] for kind in kinds or NoticeKind))
