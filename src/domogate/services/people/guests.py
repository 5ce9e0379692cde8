"""Checks of the limits that a guest gets."""

from collections.abc import Iterable

from domogate.common.times import LATEST_LOCAL
from domogate.domain.ids import Id
from domogate.domain.limits import Limits
from domogate.domain.plants import Topology
from domogate.services.refusals import Invalid

MOST_PLACES = 500
"""Floors, ambients and modules that one guest may have."""


def check_limits(limits: Limits | None, topology: Topology, now: float, before: Limits | None = None) -> Limits | None:
    """The limits with each place once, in a fixed order; None if they limit nothing. Raises Invalid.

    A place of the limits `before` may stay, even if it was deleted from the plant: otherwise a change of the period could
    leave no place, and the guest would see all of the plant.
    """
    if limits is None:
        return None
    if sum(map(len, limits.places)) > MOST_PLACES:
        raise Invalid(f"A guest can have at most {MOST_PLACES} floors, ambients and modules.")
    begin, end = limits.valid_from, limits.valid_until
    if any(at is not None and not 0 <= at <= LATEST_LOCAL for at in (begin, end)):
        raise Invalid("The begin and the end must be between the years 1970 and 9999.")
    if end is not None and end <= now:
        raise Invalid("The end must be in the future.")
    if begin is not None and end is not None and end <= begin:
        raise Invalid("The end must be after the begin.")
    kept = before or Limits()
    checked = Limits(
        floors=_known("floor", limits.floors, {*kept.floors, *(floor.id for floor in topology.floors)}),
        ambients=_known("ambient", limits.ambients, {*kept.ambients, *(one.id for one in topology.every_ambient())}),
        modules=_known("module", limits.modules, {*kept.modules, *(module.id for module in topology.every_module())}),
        valid_from=begin,
        valid_until=end,
    )
    return None if checked == Limits() else checked


def _known(noun: str, wanted: Iterable[Id], existing: Iterable[Id]) -> tuple[Id, ...]:
    chosen = frozenset(wanted)
    if unknown := sorted(chosen.difference(existing)):
        raise Invalid(f"The plant has no {noun} {unknown[0]}.")
    return tuple(sorted(chosen))
