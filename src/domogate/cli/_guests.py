"""Limits of guests on the command line: places by name or id, and a period."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from domogate.app import Tools
from domogate.cli._command import FlagGroup, WrongUsage
from domogate.cli._names import choose, parse_either_id
from domogate.cli._options import option
from domogate.cli._output import iso, local_iso
from domogate.cli._words import TIME_HELP, optional_local_time
from domogate.common.names import match_names
from domogate.domain.ids import Id
from domogate.domain.limits import Limits
from domogate.domain.plants import Ambient, Floor, Module, Plant, Topology

_DAYS = "a day begins at 00:00 in the time zone of this machine."

_LISTED = 10
"""If the plant has at most this number of floors, the message about an unknown floor lists all floors of the plant.

If a floor has a similar name, the message names only this floor. Messages about rooms and modules are made in the same way.
"""


def _place(noun: str, example: str) -> str:
    """Return the help of a flag that names a place."""
    return f"Only this {noun}, by id, name, or the end of a name if it is unique ({example}); may be repeated."


class GuestFlags(FlagGroup, frozen=True):
    """The flags that limit a guest."""

    floor: Annotated[list[str] | None, option("FLOOR", _place("floor", "2 for Floor 2"), "--floor")] = None
    room: Annotated[list[str] | None, option("ROOM", _place("room (ambient)", "203 for Room 203"), "--room")] = None
    module: Annotated[list[str] | None, option("MODULE", _place("module", "lamp for Desk lamp"), "--module")] = None
    valid_from: Annotated[
        str | None, option("TIME", f"Start of the access: {TIME_HELP}; {_DAYS} Default: at once.", "--from")
    ] = None
    valid_until: Annotated[
        str | None,
        option(
            "TIME",
            "End of the access, in the form of --from. A day is included: the access ends at 24:00. Default: no end.",
            "--until",
        ),
    ] = None


async def read_limits(tools: Tools, plant: Plant, guest: GuestFlags) -> tuple[Limits, str]:
    """Return the limits, and a description of them to print. Raises WrongUsage or Mistake for a wrong period or place."""
    stored = await tools.store.find_plant(plant.id)
    topology = Topology() if stored is None else stored.topology
    begin, end = optional_local_time(guest.valid_from), optional_local_time(guest.valid_until, end=True)
    if begin is not None and end is not None and end <= begin:
        raise WrongUsage("--until must be after --from.")
    limits = Limits(
        floors=_find("floor", guest.floor, topology.floors),
        ambients=_find("room", guest.room, tuple(topology.every_ambient())),
        modules=_find("module", guest.module, tuple(topology.every_module())),
        valid_from=begin,
        valid_until=end,
    )
    return limits, describe_limits(limits, topology)


def _find(noun: str, wanted: list[str] | None, places: Sequence[Floor | Ambient | Module]) -> tuple[Id, ...]:
    def find(one: str) -> Id:
        identity = parse_either_id(one)
        matching = [place for place in places if place.id == identity or place.name == one]
        matching = matching or [places[index] for index in match_names(one, [place.name for place in places])]
        names = [place.name for place in places]
        hint = f"`domogate estate export` shows all {noun}s"
        if 0 < len(names) <= _LISTED:
            hint = f"the plant has these {noun}s: {', '.join(names)}"
        return choose(matching, one, noun, hint, lambda place: f"{place.id}  {place.name}", names).id

    return tuple(map(find, wanted or ()))


def limits_as_json(limits: Limits | None) -> dict[str, Any] | None:
    if limits is None:
        return None
    return {
        "floors": limits.floors,
        "ambients": limits.ambients,
        "modules": limits.modules,
        "valid_from": iso(limits.valid_from),
        "valid_until": iso(limits.valid_until),
    }


def describe_limits(limits: Limits | None, topology: Topology) -> str:
    """Return the limits as text, for example ' (Room 203; from 2036-11-20T14:00:00+01:00)'.

    The text is empty if there are no limits.
    """
    parts = "" if limits is None else "; ".join(_parts(limits, topology))
    return f" ({parts})" if parts else ""


def _parts(limits: Limits, topology: Topology) -> Iterator[str]:
    places: list[Floor | Ambient | Module] = [*topology.floors, *topology.every_ambient(), *topology.every_module()]
    names = {place.id: place.name for place in places}
    if not limits.everywhere:
        yield ", ".join(names.get(place, place) for group in limits.places for place in group)
    if limits.valid_from is not None:
        yield f"from {local_iso(limits.valid_from)}"
    if limits.valid_until is not None:
        yield f"until {local_iso(limits.valid_until)}"
