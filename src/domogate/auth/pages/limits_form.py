"""The part of a form that sets the limits of a guest: check boxes for places (floors, rooms, devices), a start and an end."""

from collections.abc import Iterable
from datetime import datetime, tzinfo

import msgspec

from domogate.auth.pages.browser import Form
from domogate.auth.pages.language import Language
from domogate.common.times import LATEST_LOCAL, find_time_zone
from domogate.domain.devices import DeviceKind
from domogate.domain.ids import Id
from domogate.domain.limits import Limits
from domogate.domain.plants import Ambient, Floor, Module, Plant, Topology
from domogate.services.people.guests import MOST_PLACES

_NOT_SHARED_ALONE = frozenset((DeviceKind.SCENE, DeviceKind.GATEWAY))
_DELETED = "–"
"""Shown instead of the name of a place that does not exist any more."""
_TIME = "%Y-%m-%dT%H:%M"
_KINDS = ("floor", "ambient", "module")
_PLACE_FIELDS = tuple(f"{kind}-" for kind in _KINDS)
"""The name of each check box begins with one of these texts, and ends with the id of the place."""

Zone = tzinfo | None
"""The time zone of a home. None means the time zone of this machine."""


class WrongLimits(Exception):
    """The places or the period in the form are wrong, so nothing is stored.

    `problems` has the key of a text for each wrong field. The empty field name stands for the whole form.
    """

    def __init__(self, field: str, key: str) -> None:
        super().__init__(key)
        self.problems = {field: key}


class Place(msgspec.Struct, frozen=True):
    """A check box of the form, for one place. `kind` is floor, ambient or module."""

    kind: str
    id: Id
    name: str

    @property
    def field(self) -> str:
        return f"{self.kind}-{self.id}"

    @property
    def whole_floor(self) -> bool:
        return self.kind == "floor"


def list_places(topology: Topology, limits: Limits | None = None) -> list[Place]:
    """Return the check boxes: floors with their rooms, then rooms without a floor, then devices without a room.

    Scenes and gateways are left out. If `limits` have other places, for example deleted places, they are at the end.
    """
    found = []
    for floor in topology.floors:
        found.append(Place("floor", floor.id, floor.name))
        found += [Place("ambient", ambient.id, ambient.name) for ambient in floor.ambients]
    found += [Place("ambient", ambient.id, ambient.name) for ambient in topology.ambients]
    found += [Place("module", module.id, module.name) for module in topology.modules if module.kind not in _NOT_SHARED_ALONE]
    if limits is not None:
        offered, names = {place.field for place in found}, _names(topology)
        present = (Place(kind, one, names.get(one, _DELETED)) for kind, one in _places_of(limits))
        found += [place for place in present if place.field not in offered]
    return found


def fill_form(limits: Limits | None, zone: Zone) -> Form:
    """Return a form that is filled with the present limits."""
    if limits is None:
        return Form()
    fields = [(f"{kind}-{one}", "yes") for kind, one in _places_of(limits)]
    return Form([*fields, ("begin", _print_field(limits.valid_from, zone)), ("end", _print_field(limits.valid_until, zone))])


def read_limits(form: Form, places: Iterable[Place], now: float, zone: Zone, before: Limits | None = None) -> Limits:
    """Return the limits in the form. `before` are the limits that the form showed. Raises WrongLimits for a wrong
    place or period.

    A chosen place that is not in `places` is refused. If it were ignored and no other place were chosen, the limits would
    allow the whole home.
    """
    ticked = {field for field in form.list_filled() if field.startswith(_PLACE_FIELDS)}
    chosen = [place for place in places if place.field in ticked]
    if len(chosen) < len(ticked):
        raise WrongLimits("", "guests.problem_place")
    if len(chosen) > MOST_PLACES:
        raise WrongLimits("", "guests.problem_places")
    before = before or Limits()
    begin, end = _read_time(form, "begin", before.valid_from, zone), _read_time(form, "end", before.valid_until, zone)
    if end is not None and end <= max(begin or 0.0, now):
        raise WrongLimits("end", "guests.problem_period")
    floors, ambients, modules = (tuple(one.id for one in chosen if one.kind == kind) for kind in _KINDS)
    return Limits(floors, ambients, modules, begin, end)


def describe_limits(language: Language, limits: Limits | None, topology: Topology, zone: Zone) -> str:
    """Return the limits as text, for example "Kitchen · from 2036-11-20 14:00". The text is empty if there are no limits."""
    if limits is None:
        return ""
    names = _names(topology)
    parts = [", ".join(dict.fromkeys(names.get(one, _DELETED) for _, one in _places_of(limits)))]
    if limits.valid_from is not None:
        parts.append(language.say("guests.from", time=print_time(limits.valid_from, zone)))
    if limits.valid_until is not None:
        parts.append(language.say("guests.until", time=print_time(limits.valid_until, zone)))
    return " · ".join(filter(None, parts))


def print_zone(plant: Plant, now: float) -> str:
    known = find_time_zone(plant.time_zone) is not None
    return plant.time_zone if known and plant.time_zone else datetime.fromtimestamp(now).astimezone().strftime("%Z")


def _names(topology: Topology) -> dict[Id, str]:
    named: list[Floor | Ambient | Module] = [*topology.floors, *topology.every_ambient(), *topology.every_module()]
    return {one.id: one.name for one in named}


def _places_of(limits: Limits) -> list[tuple[str, Id]]:
    kinds = zip(_KINDS, limits.places, strict=True)
    return [(kind, one) for kind, places in kinds for one in places]


def _read_time(form: Form, field: str, before: float | None, zone: Zone) -> float | None:
    """Return the time in a field, or None if the field is empty. Raises WrongLimits if the text is not a time.

    A browser sends `2036-11-20T14:00` without a time zone. The time is in the time zone of the home, as the page says. `before`
    is the time that the form showed. A browser sends no seconds. So if the person did not change the field, the result is the
    time `before`, with its seconds.
    """
    text = form.get(field)
    if not text or text == _print_field(before, zone):
        return before if text else None
    try:
        at = datetime.strptime(text[:16], _TIME).replace(tzinfo=zone).timestamp()
    except (ValueError, OverflowError, OSError):
        raise WrongLimits(field, "guests.problem_time") from None
    if not 0 <= at <= LATEST_LOCAL:
        raise WrongLimits(field, "guests.problem_time")
    return at


def _print_field(at: float | None, zone: Zone) -> str:
    return "" if at is None else datetime.fromtimestamp(at, zone).strftime(_TIME)


def print_time(at: float, zone: Zone) -> str:
    return _print_field(at, zone).replace("T", " ")
