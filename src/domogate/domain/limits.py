"""The limits of a guest: the places of a plant that the guest may see, and the period of the membership (Decision 0058)."""

from math import inf

import msgspec

from domogate.domain.ids import Id

Places = tuple[tuple[Id, ...], tuple[Id, ...], tuple[Id, ...]]
"""The ids of floors, of ambients and of modules."""


class Limits(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The limits of a guest.

    The guest sees only the named floors, ambients and modules. If the limits name no floor, ambient or module, the guest sees
    the whole plant.
    """

    floors: tuple[Id, ...] = ()
    ambients: tuple[Id, ...] = ()
    modules: tuple[Id, ...] = ()
    valid_from: float | None = None
    valid_until: float | None = None

    @property
    def places(self) -> Places:
        return self.floors, self.ambients, self.modules

    @property
    def everywhere(self) -> bool:
        return not (self.floors or self.ambients or self.modules)

    def holds(self, now: float) -> bool:
        """Whether the period of the limits has begun and has not ended."""
        begun = self.valid_from is None or self.valid_from <= now
        return begun and (self.valid_until is None or now < self.valid_until)

    def next_change(self, now: float) -> float:
        """Return the next time after `now` at which the period begins or ends. Return infinity if there is no such time."""
        return min((at for at in (self.valid_from, self.valid_until) if at is not None and at > now), default=inf)
