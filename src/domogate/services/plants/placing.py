"""Puts modules into rooms. The room of a module is found in the name of the device, for example 101 in `101_lamp`."""

import re
from collections.abc import Collection, Sequence
from itertools import count

import msgspec

from domogate.common.names import find_near, first_capital, match_names, space_words
from domogate.domain.ids import Id
from domogate.domain.plants import Module
from domogate.services.plants.editing import Row, TopologyDraft

PLACE = "{room}"
_MOST_WILDCARDS, _LONGEST_NAME = 2, 60
"""The largest number of wildcards in a pattern, and the longest name that is matched.

Larger values could make the match very slow.
"""


class ModuleInRoom(msgspec.Struct, frozen=True):
    id: Id
    name: str
    ambient_id: Id | None


class UnplacedModule(msgspec.Struct, frozen=True):
    id: Id
    name: str
    why: str


class Placement(msgspec.Struct, frozen=True):
    """The result of a placement.

    `placed` has the modules that were added. `known` has the ids of the modules that the plant already had. `left` has the
    modules that were not added. For each of them, the pattern found no room (ambient) of the plant, or several rooms.
    """

    placed: list[ModuleInRoom]
    known: list[Id]
    left: list[UnplacedModule]


def parse_pattern(pattern: str) -> re.Pattern[str]:
    """Return a regular expression that finds the room in the name of a device.

    For example, `{room}_*` finds the room 101 in `101_lamp`.

    Raises ValueError if the pattern does not contain {room} exactly once, or has too many wildcards.
    """
    if pattern.count("*") > _MOST_WILDCARDS:
        raise ValueError(f"a pattern contains * at most {_MOST_WILDCARDS} times")
    if pattern.count(PLACE) != 1:
        raise ValueError(f"a pattern contains {PLACE} once, where the names of devices have the room, such as '{PLACE}_*'")
    before, after = (re.escape(part).replace(r"\*", "(.*)") for part in pattern.split(PLACE))
    return re.compile(f"{before}(?P<room>.+?){after}", re.IGNORECASE)


def choose_room(rooms: Sequence[str], pattern: re.Pattern[str], device: str, *, suggest: bool = False) -> int | str:
    """Find the room in the name of the device. Return the index of this room in `rooms`, or the reason why no room was found.

    If `suggest` is true, the reason names a room with a similar name. Finding a similar name takes milliseconds. So do not use
    `suggest` for many devices.
    """
    match = pattern.fullmatch(device) if len(device) <= _LONGEST_NAME else None
    if match is None:
        return "its name does not match the pattern"
    matching = match_names(match["room"], rooms)
    if len(matching) == 1:
        return matching[0]
    near = None if matching or not suggest else find_near(space_words(match["room"]), rooms)
    question = "" if near is None else f" (did you mean {near!r}?)"
    return f"{'several rooms are' if matching else 'no room is'} named {match['room']}{question}"


def name_in_room(pattern: re.Pattern[str], device: str, taken: Collection[str]) -> str:
    """Return the device's name without the room. Example: "Reading lamp" for `101_reading_lamp`.

    If the name is one of `taken` (the names in the room, in lower case), a number is added.
    """
    match = pattern.fullmatch(device)
    parts, place = match.groups() if match else (), pattern.groupindex["room"]
    rest = space_words(" ".join(parts[place:])) or space_words(" ".join(parts[: place - 1]))
    name = first_capital(rest) or device
    numbered = (f"{name} {number}" for number in count(2))
    return name if name.casefold() not in taken else next(one for one in numbered if one.casefold() not in taken)


def place_modules(draft: TopologyDraft, modules: Sequence[Row[Module]], pattern: re.Pattern[str] | None) -> Placement:
    """Add the modules to the plant, and choose rooms for the modules without an ambient.

    The pattern finds the room in the name of a module without an ambient. If it finds exactly one room, the module is added to
    this room, and the new name of the module does not contain the room (see `name_in_room`). Otherwise the module is not
    added. If `pattern` is None, modules without an ambient are added without a room.
    """
    rooms = [ambient for ambient, _ in draft.ambients.values()]
    taken = {room.id: {module.name.casefold() for module in room.modules} for room in rooms}
    placement = Placement([], [], [])
    for module, ambient_id in modules:
        if module.id in draft.modules:
            placement.known.append(module.id)
            continue
        if ambient_id is None and pattern is not None:
            index = choose_room([room.name for room in rooms], pattern, module.name)
            if isinstance(index, str):
                placement.left.append(UnplacedModule(module.id, module.name, index))
                continue
            ambient_id = rooms[index].id
            module = msgspec.structs.replace(module, name=name_in_room(pattern, module.name, taken[ambient_id]))
        if ambient_id is not None:
            draft.ambient(ambient_id)
            taken[ambient_id].add(module.name.casefold())
        draft.put_module(module, ambient_id)
        placement.placed.append(ModuleInRoom(module.id, module.name, ambient_id))
    return placement
