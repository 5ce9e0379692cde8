"""The nodes of an estate file: its values with line and column. Numbers are still text; `values.py` converts them."""

from typing import TypeAlias

import msgspec

from domogate.estate.mistakes import Path

MAX_DEPTH = 40
PLANTS = "plants"


class Scalar(msgspec.Struct, frozen=True, gc=False):
    """A YAML scalar: its text, and whether it was written without quotes."""

    text: str
    plain: bool
    line: int
    column: int


class Listing(msgspec.Struct, frozen=True):
    items: list["Node"]
    line: int
    column: int


class Entry(msgspec.Struct, frozen=True):
    """An entry of a YAML mapping: its value, and the position of its key."""

    node: "Node"
    line: int
    column: int


class Mapping(msgspec.Struct, frozen=True):
    entries: dict[str, Entry]
    line: int
    column: int


Node: TypeAlias = Scalar | Listing | Mapping


def locate(root: Node, path: Path, *, key: bool = False) -> tuple[int, int]:
    """Return the line and the column of the value at the path. If `key` is true, return the place of its key.

    If the value is missing, return the line and the column of its nearest parent.
    """
    node, place = root, (root.line, root.column)
    for step in path:
        if isinstance(node, Mapping) and isinstance(step, str) and step in node.entries:
            entry = node.entries[step]
            node = entry.node
            place = (entry.line, entry.column) if key else (node.line, node.column)
        elif isinstance(node, Listing) and isinstance(step, int) and step < len(node.items):
            node = node.items[step]
            place = (node.line, node.column)
        else:
            break
    return place
