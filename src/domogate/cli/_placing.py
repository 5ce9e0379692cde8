"""Puts discovered modules into the rooms of an estate file. The other lines of the file stay as they are."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import count

import msgspec
import yaml

from domogate.cli._names import match_names, split_words
from domogate.domain.devices import DeviceKind
from domogate.drivers.mqtt.discovery import Found

PLACE = "{room}"


class Placed(msgspec.Struct, frozen=True):
    """The new text of the file, the number of added modules, and the modules that have no room, with the reason."""

    text: str
    added: int
    known: int
    """The number of modules that were in the file before."""
    left: Sequence[tuple[Found, str]]


def parse_pattern(pattern: str) -> re.Pattern[str]:
    """Return a regular expression that finds the room in the name of a device: `{room}_*` finds the room 101 in `101_lamp`.

    Raises ValueError if the pattern does not contain {room} exactly once.
    """
    if pattern.count(PLACE) != 1:
        raise ValueError(f"a pattern contains {PLACE} once, where the names of devices have the room, such as '{PLACE}_*'")
    before, after = (re.escape(part).replace(r"\*", "(.*)") for part in pattern.split(PLACE))
    return re.compile(f"{before}(?P<room>.+?){after}", re.IGNORECASE)


def place_modules(text: str, pattern: re.Pattern[str], found: Sequence[Found], describe: Callable[[Found, int], str]) -> Placed:
    """Add the modules to the rooms that their names contain. In its room, a module has the rest of its name.

    A module that is already in the file is not added again. A bridge without a room is left out: it serves the whole plant.
    The text must be a correct estate file. `describe` returns the lines of a module, indented by a number of spaces.
    """
    rooms = list(_find_rooms(yaml.compose(text, Loader=yaml.SafeLoader)))
    names = [_names_in(room) for _, room in rooms]
    lower = text.lower()
    new = [one for one in found if one.id not in lower]
    chosen: dict[int, list[Found]] = {}
    left: list[tuple[Found, str]] = []
    for one in new:
        index = _choose_room([name for name, _ in rooms], pattern, one.name)
        if isinstance(index, str):
            if one.kind is not DeviceKind.GATEWAY:
                left.append((one, index))
        elif _is_in_braces(rooms[index][1]):
            left.append((one, f"the room {rooms[index][0]} is written in braces: write each of its keys on its own line"))
        else:
            name = _name_in_room(pattern, one.name, names[index])
            names[index].add(name.casefold())
            chosen.setdefault(index, []).append(msgspec.structs.replace(one, name=name))
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    for index in sorted(chosen, key=lambda index: -_last_line(rooms[index][1])):
        _insert(lines, rooms[index][1], chosen[index], describe)
    return Placed("".join(lines), sum(map(len, chosen.values())), len(found) - len(new), left)


def _choose_room(names: Sequence[str], pattern: re.Pattern[str], device: str) -> int | str:
    """Return the index of the room, or the reason why no room was found."""
    match = pattern.fullmatch(device)
    if match is None:
        return "its name does not match the pattern"
    matching = match_names(match["room"], names)
    if len(matching) == 1:
        return matching[0]
    return f"{'several rooms are' if matching else 'no room is'} named {match['room']}"


def _name_in_room(pattern: re.Pattern[str], device: str, taken: set[str]) -> str:
    """The device's name without the room: "Reading lamp" for `101_reading_lamp`. A number keeps equal names apart."""
    match = pattern.fullmatch(device)
    parts, place = match.groups() if match else (), pattern.groupindex["room"]
    rest = split_words(" ".join(parts[place:])) or split_words(" ".join(parts[: place - 1]))
    name = rest[:1].upper() + rest[1:] or device
    numbered = (f"{name} {number}" for number in count(2))
    return name if name.casefold() not in taken else next(one for one in numbered if one.casefold() not in taken)


def _find_rooms(node: yaml.Node | None) -> Iterator[tuple[str, yaml.MappingNode]]:
    for plant in _items(_get(node, "plants")):
        for holder in (plant, *_items(_get(plant, "floors"))):
            for room in _items(_get(holder, "ambients")):
                name = _get(room, "name")
                if isinstance(room, yaml.MappingNode) and name is not None:
                    yield str(name.value), room


def _names_in(room: yaml.MappingNode) -> set[str]:
    names = (_get(module, "name") for module in _items(_get(room, "modules")))
    return {str(name.value).casefold() for name in names if name is not None}


def _get(node: yaml.Node | None, key: str) -> yaml.Node | None:
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    return next((value for name, value in pairs if name.value == key), None)


def _items(node: yaml.Node | None) -> list[yaml.Node]:
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _is_in_braces(room: yaml.MappingNode) -> bool:
    modules = _get(room, "modules")
    return bool(room.flow_style) or (isinstance(modules, yaml.SequenceNode) and bool(modules.flow_style))


def _last_line(node: yaml.Node) -> int:
    """The number of the last line with content. For the YAML parser, a block ends only where the next block begins."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _last_line(last[1] if isinstance(last, tuple) else last)
    mark = node.end_mark
    return int(mark.line - 1 if mark.column == 0 and mark.line > node.start_mark.line else mark.line)


def _insert(lines: list[str], room: yaml.MappingNode, modules: Sequence[Found], describe: Callable[[Found, int], str]) -> None:
    present = _get(room, "modules")
    column = room.value[0][0].start_mark.column
    if present is None:
        at, indent, head = _last_line(room) + 1, column + 2, [f"{' ' * column}modules:\n"]
    else:
        at, indent, head = _last_line(present) + 1, present.start_mark.column, []
    lines[at:at] = [*head, *(describe(one, indent) for one in modules)]
