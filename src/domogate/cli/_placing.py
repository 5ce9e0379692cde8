"""Puts discovered modules into the rooms of an estate file. The other lines of the file stay as they are."""

import re
from collections.abc import Callable, Iterator, Sequence

import msgspec
import yaml

from domogate.domain.devices import DeviceKind
from domogate.domain.discovery import FoundModule
from domogate.services.plants.placing import choose_room, name_in_room


class Placed(msgspec.Struct, frozen=True):
    """The new text of an estate file to which modules were added.

    `added` is the number of added modules. `left` has the modules that could not be added, with the reason.
    """

    text: str
    added: int
    known: int
    """The number of discovered modules that were already in the file."""
    left: Sequence[tuple[FoundModule, str]]
    renamed: Sequence[tuple[str, str]]
    """Modules of the file whose device has another name now: the name in the file, and the new name."""


def place_modules(
    text: str, pattern: re.Pattern[str], found: Sequence[FoundModule], describe: Callable[[FoundModule, int], str]
) -> Placed:
    """Add new modules to the rooms of an estate file. Return the new text, and the modules that were not added (`left`).

    The name of each module is matched with `pattern`. The group `room` of the match names the room (see `match_names`), and the
    rest of the name becomes the module's name. A module is not added in three cases: its name does not match; the group does
    not name exactly one room; or the room or its modules are written in braces or brackets. In these cases, `left` has the
    module with the reason.

    A module that is already in the file is not added again. A bridge, such as Zigbee2MQTT, is a module of the kind gateway. It
    serves the whole plant. So it is ignored if it matches no room.

    The text must be a correct estate file. `describe(module, spaces)` returns the lines of a module, indented by `spaces`.
    """
    file = yaml.compose(text, Loader=yaml.SafeLoader)
    rooms = list(_find_rooms(file))
    names = [_names_in(room) for _, room in rooms]
    lower = text.lower()
    new = [one for one in found if one.id not in lower]
    chosen: dict[int, list[FoundModule]] = {}
    left: list[tuple[FoundModule, str]] = []
    for one in new:
        index = choose_room([name for name, _ in rooms], pattern, one.name, suggest=True)
        if isinstance(index, str):
            if one.kind is not DeviceKind.GATEWAY:
                left.append((one, index))
        elif _is_in_braces(rooms[index][1]):
            left.append((one, f"the room {rooms[index][0]} is written in braces: write each of its keys on its own line"))
        else:
            name = name_in_room(pattern, one.name, names[index])
            names[index].add(name.casefold())
            chosen.setdefault(index, []).append(msgspec.structs.replace(one, name=name))
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    for index in sorted(chosen, key=lambda index: -_last_line(rooms[index][1])):
        _insert(lines, rooms[index][1], chosen[index], describe)
    return Placed("".join(lines), sum(map(len, chosen.values())), len(found) - len(new), left, list(_find_renamed(file, found)))


def _find_rooms(node: yaml.Node | None) -> Iterator[tuple[str, yaml.MappingNode]]:
    for plant in _items(_get(node, "plants")):
        for holder in (plant, *_items(_get(plant, "floors"))):
            for room in _items(_get(holder, "ambients")):
                name = _get(room, "name")
                if isinstance(room, yaml.MappingNode) and name is not None:
                    yield str(name.value), room


def _find_renamed(file: yaml.Node | None, found: Sequence[FoundModule]) -> Iterator[tuple[str, str]]:
    names = {str(one.id): str(one.options["name"]) for one in found if "name" in one.options}
    for module in _find_mappings(file):
        identity, name = _get(module, "id"), _get(_get(module, "options"), "name")
        new = None if identity is None else names.get(str(identity.value).lower())
        if new is not None and name is not None and str(name.value) != new:
            yield str(name.value), new


def _find_mappings(node: object) -> Iterator[yaml.MappingNode]:
    if isinstance(node, yaml.MappingNode):
        yield node
        for _, value in node.value:
            yield from _find_mappings(value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _find_mappings(item)


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
    """Return the number of the last line of the node, without empty lines after it.

    The first line has the number 0. For a block, the YAML parser reports the beginning of the next block as its end. So this
    end is not used.
    """
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _last_line(last[1] if isinstance(last, tuple) else last)
    mark = node.end_mark
    return int(mark.line - 1 if mark.column == 0 and mark.line > node.start_mark.line else mark.line)


def _insert(
    lines: list[str], room: yaml.MappingNode, modules: Sequence[FoundModule], describe: Callable[[FoundModule, int], str]
) -> None:
    present = _get(room, "modules")
    column = room.value[0][0].start_mark.column
    if present is None:
        at, indent, head = _last_line(room) + 1, column + 2, [f"{' ' * column}modules:\n"]
    else:
        at, indent, head = _last_line(present) + 1, present.start_mark.column, []
    lines[at:at] = [*head, *(describe(one, indent) for one in modules)]
