"""Checks the limits of a guest."""

from collections.abc import Iterable

from domogate.common.times import LATEST_LOCAL
from domogate.domain.ids import Id
from domogate.domain.limits import Limits
from domogate.domain.plants import Topology
from domogate.services.refusals import Invalid, Reason

MOST_PLACES = 500
"""The number of floors, ambients and modules that the limits of one guest may name."""


def check_limits(limits: Limits | None, topology: Topology, now: float, before: Limits | None = None) -> Limits | None:
    """Return the limits sorted and without duplicates, or None if they do not limit anything. Raises Invalid if they are wrong.

    `before` are the limits until now. A floor, ambient or module in these limits may stay, even if it was deleted from the
    plant. Otherwise a change of the period could remove the last floor, ambient or module from the limits. Then the guest
    would see the whole plant.
    """
    if limits is None:
        return None
    if sum(map(len, limits.places)) > MOST_PLACES:
        raise Invalid(f"A guest can have at most {MOST_PLACES} floors, ambients and modules.", Reason.TOO_MANY_PLACES)
    begin, end = limits.valid_from, limits.valid_until
    if any(at is not None and not 0 <= at <= LATEST_LOCAL for at in (begin, end)):
        raise Invalid("The start and the end must be between the years 1970 and 9999.", Reason.BAD_PERIOD)
    if end is not None and end <= now:
        raise Invalid("The end must be in the future.", Reason.BAD_PERIOD)
    if begin is not None and end is not None and end <= begin:
        raise Invalid("The end must be after the start.", Reason.BAD_PERIOD)
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
        raise Invalid(f"The plant has no {noun} {unknown[0]}.", Reason.NO_SUCH_PLACE)
    return tuple(sorted(chosen))
