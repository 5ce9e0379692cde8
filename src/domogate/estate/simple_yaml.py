"""Reads simple YAML quickly, plant by plant. Exports are simple YAML, except if options of a driver have unusual keys.

Simple means: block lists and mappings with words as keys; plain values of usual characters, quoted values, and lists and
mappings in brackets, each within one line; comments only on lines of their own. For such text the result is the same as with
the YAML parser, but it has no positions, and it takes a fraction of the time. Other text raises NotSimple; then the YAML
parser must read the whole file.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, TextIO, TypeAlias

from domogate.estate.nodes import MAX_DEPTH, PLANTS

Raw: TypeAlias = Any
"""A plain value is a str, a quoted value a tuple with one str. A list and a mapping are a list and a dict of raw values."""

_BLOCK = 64 * 1024
_KEY = "[A-Za-z_][A-Za-z0-9_-]*"
_USUAL = r"[\w ./@+()&'-]"
_PLAIN = rf"-?\w{_USUAL}*(?::\w{_USUAL}*)*(?<! )"
_QUOTED = r'"(?:[^"\\]|\\["\\bfnrt]|\\u(?![dD][89a-fA-F]|0000)[0-9a-fA-F]{4})*"' + "|'(?:[^']|'')*'"
_SCALAR = rf"({_PLAIN})|({_QUOTED})"

_line = re.compile(rf"( *)(- )?(?:({_KEY}):(?: (\S.*))?|(\S.*))").fullmatch
_scalar = re.compile(_SCALAR).fullmatch
_flow_scalar = re.compile(_SCALAR).match
_flow_key = re.compile(rf"({_KEY}): +").match
_flow_next = re.compile(r" *([,\]}]) *").match
# Characters that YAML refuses or takes as line breaks, and tabs.
_odd = re.compile("[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]").search


class NotSimple(Exception):
    """The text is not simple YAML. It may be correct."""


def read_parts(text: TextIO) -> Iterator[tuple[str, Raw]]:
    """Yield the top-level keys with their values. Each plant is yielded alone, with the key `plants`. Raises NotSimple."""
    seen: set[str] = set()
    key, begin_of_plant = "", ""
    lines: list[str] = []
    for line in _lines(text):
        if line[0] != " " and not line.startswith("- "):
            if seen:
                yield key, _read_part(key, lines)
            found = _line(line)
            if found is None or found[3] is None or found[3] in seen:
                raise NotSimple
            key, lines, begin_of_plant = found[3], [line], ""
            seen.add(key)
        elif not seen:
            raise NotSimple
        elif key == PLANTS and not begin_of_plant:
            begin_of_plant = line[: len(line) - len(line.lstrip())] + "- "
            lines.append(line)
        elif key == PLANTS and line.startswith(begin_of_plant):
            yield key, _read_part(key, lines)
            lines = [lines[0], line]
        else:
            lines.append(line)
    if not seen:
        raise NotSimple
    yield key, _read_part(key, lines)


def _lines(text: TextIO) -> Iterator[str]:
    """The lines that are neither empty nor comments."""
    rest = ""
    while block := text.read(_BLOCK):
        if len(rest) > _BLOCK or (not block.replace("\n", "").isprintable() and _odd(block)):
            raise NotSimple
        lines = (rest + block).split("\n")
        rest = lines.pop()
        for line in lines:
            if (content := line.lstrip(" ")) and content[0] != "#":
                yield line
    if (content := rest.lstrip(" ")) and content[0] != "#":
        yield rest


def _read_part(key: str, lines: list[str]) -> Raw:
    """The value under the key in the first line. Under `plants`, the only plant in the lines."""
    found = _Block(lines).read()
    value = found.get(key) if isinstance(found, dict) else None
    if key != PLANTS:
        return value
    if not isinstance(value, list) or len(value) != 1:
        raise NotSimple
    return value[0]


class _Block:
    """Lines of block lists and mappings."""

    def __init__(self, lines: list[str]) -> None:
        self._rows = [self._split(line) for line in lines]
        self._at = 0
        self._depth = 0

    @staticmethod
    def _split(line: str) -> tuple[int, bool, str | None, str | None]:
        """Return the indent, whether a list item begins, the key, and the value."""
        found = _line(line)
        if found is None:
            raise NotSimple
        indent, dash, key, value, item = found.groups()
        return len(indent), dash is not None, key, value if item is None else item

    def read(self) -> Raw:
        try:
            value = self._read_under(-1)
        except IndexError:
            raise NotSimple from None
        if self._at != len(self._rows):
            raise NotSimple
        return value

    def _read_under(self, column: int) -> Raw:
        """Read the list or mapping below a key at the column. A list may have the same column as the key."""
        indent, is_item, _, _ = self._rows[self._at]
        self._depth += 1
        if self._depth > MAX_DEPTH // 2 or indent < column or (indent == column and not is_item):
            raise NotSimple
        value = self._read_list(indent) if is_item else self._read_mapping(indent)
        self._depth -= 1
        return value

    def _read_list(self, column: int) -> list[Raw]:
        items: list[Raw] = []
        while self._at < len(self._rows):
            indent, is_item, key, value = self._rows[self._at]
            if indent < column or (indent == column and not is_item):
                break
            if indent > column:
                raise NotSimple
            if key is not None:
                items.append(self._read_mapping(column + 2))
            elif value is not None:
                items.append(_read_value(value))
                self._at += 1
        return items

    def _read_mapping(self, column: int) -> dict[str, Raw]:
        """The first line may begin a list item, whose other lines are at the column."""
        entries: dict[str, Raw] = {}
        rows, at = self._rows, self._at
        while True:
            _, _, key, value = rows[at]
            if key is None or key in entries:
                raise NotSimple
            if value is not None:
                entries[key] = _read_value(value)
                at += 1
            else:
                self._at = at + 1
                entries[key] = self._read_under(column)
                at = self._at
            if at == len(rows):
                break
            indent, is_item, _, _ = rows[at]
            if indent < column:
                break
            if indent > column or is_item:
                raise NotSimple
        self._at = at
        return entries


def _read_value(text: str) -> Raw:
    found = _scalar(text)
    if found is not None:
        return _read_scalar(found)
    if text[0] not in "{[":
        raise NotSimple
    value, end = _read_flow(text, 0, 0)
    if end != len(text):
        raise NotSimple
    return value


def _read_scalar(found: re.Match[str]) -> Raw:
    plain, quoted = found.groups()
    if quoted is None:
        if plain == "null":
            raise NotSimple
        return plain
    return (json.loads(quoted),) if quoted[0] == '"' else (quoted[1:-1].replace("''", "'"),)


def _read_flow(text: str, at: int, depth: int) -> tuple[Raw, int]:
    """Read a value in brackets, or in a list or mapping in brackets. Return it and the position after it."""
    opening = text[at] if at < len(text) else ""
    if opening not in ("{", "["):
        found = _flow_scalar(text, at)
        if found is None:
            raise NotSimple
        return _read_scalar(found), found.end()
    if depth > MAX_DEPTH // 2:
        raise NotSimple
    entries: dict[str, Raw] = {}
    items: list[Raw] = []
    closing = "}" if opening == "{" else "]"
    at += 1
    empty = _flow_next(text, at)
    if empty is not None and empty[1] == closing:
        return entries if opening == "{" else items, at + 1
    while True:
        if opening == "{":
            found = _flow_key(text, at)
            if found is None or found[1] in entries:
                raise NotSimple
            entries[found[1]], at = _read_flow(text, found.end(), depth + 1)
        else:
            item, at = _read_flow(text, at, depth + 1)
            items.append(item)
        after = _flow_next(text, at)
        if after is None:
            raise NotSimple
        if after[1] == closing:
            return entries if opening == "{" else items, after.start(1) + 1
        if after[1] != ",":
            raise NotSimple
        at = after.end()
