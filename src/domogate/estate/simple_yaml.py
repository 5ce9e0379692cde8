"""Reads simple YAML quickly, plant by plant. Exports are simple YAML, except if options of a driver have unusual keys.

Simple YAML has block lists, and block mappings with words as keys. A value is a plain text of usual characters, a quoted text,
or a list or mapping in brackets. Each value is within one line. Each comment has its own line. For such text the result is the
same as the result of the YAML parser. The only exception: the values have no line numbers. The YAML parser would take several
times as long. For other text, `read_parts` raises NotSimple. Then the YAML parser must read the whole file.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, TextIO, TypeAlias

from domogate.estate.nodes import MAX_DEPTH, PLANTS
from domogate.estate.repeated import MARK, RepeatedRecord, Repeats

Raw: TypeAlias = Any
"""A raw value: a str (written without quotes), a tuple with one str (written in quotes), a list or dict of raw values."""

BLOCK = 64 * 1024
_SHORT, _MOST_VALUES = 200, 1_000
"""While a file is read, at most `_MOST_VALUES` values in brackets are cached, each with at most `_SHORT` characters."""
_KEY = "[A-Za-z_][A-Za-z0-9_-]*"
_USUAL = r"[\w ./@+()&'-]"
_PLAIN = rf"-?\w{_USUAL}*(?::\w{_USUAL}*)*(?<! )"
_QUOTED = r'"(?:[^"\\\n]|\\["\\bfnrt]|\\u(?![dD][89a-fA-F]|0000)[0-9a-fA-F]{4})*"' + r"|'(?:[^'\n]|'')*'"
_SCALAR = rf"({_PLAIN})|({_QUOTED})"
_KEY_AT_START = "[^ #\n-]|-(?! )"

# Indent, the dash of a list item, key, plain value, quoted value, other value, and the value of an item without a key. All
# lines of a plant are split in one call, which takes a fraction of the time of a call for each line.
_split_lines = re.compile(
    rf"^( *)(?!#)(- )?(?:({_KEY}):(?: (?:(?!null$)({_PLAIN})|({_QUOTED})|(\S.*)))?|(\S.*))$", re.MULTILINE
).findall
_key_of = re.compile(rf"({_KEY}):(?: |\n)").match
# These patterns begin with a line break, because Python finds a fixed character much faster than the beginning of a line.
_find_key = re.compile(f"\n(?:{_KEY_AT_START})").search
_find_content = re.compile("\n *[^ #\n]").search
_scalar = re.compile(_SCALAR).fullmatch
_flow_scalar = re.compile(_SCALAR).match
_flow_key = re.compile(rf"({_KEY}): +").match
_flow_next = re.compile(r" *([,\]}]) *").match
# Characters that YAML refuses or takes as line breaks, and tabs.
_odd = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]").search

_Row = tuple[str, str, str, str, str, str, str]
"""The groups that the regular expression `_split_lines` finds in one line. A group that matched nothing is an empty text."""


class NotSimple(Exception):
    """The text is not simple YAML. It may still be correct YAML."""


def has_odd_characters(text: str) -> bool:
    """Return whether the text has a tab, or a character that YAML refuses or takes as a line break."""
    return not text.replace("\n", "").isprintable() and _odd(text) is not None


def read_parts(text: TextIO, begin: str | None = None) -> Iterator[tuple[str, Raw]]:
    """Yield the top-level keys with their values. Each plant is yielded separately, with the key `plants`.

    `begin` is the first block of the text, if the caller has read it already. Raises NotSimple if the text is not simple YAML.
    Also raises NotSimple if the list of plants is empty, or is in brackets and has several plants.
    """
    seen = False
    # Many modules have the same values in brackets, such as {on: true, level: 60}.
    read_short = lru_cache(_MOST_VALUES)(_read_value)
    repeats = Repeats(_PLAIN, lambda rest: _read_entries(rest, read_short))
    for key, part in _split_parts(_blocks(text, begin)):
        shortened, repeated = repeats.cut(part) if key == PLANTS else (part, [])
        rows = _read_rows(shortened)
        if key:
            seen = True
            yield key, _read_part(key, _Block(rows, read_short, repeated).read())
        elif rows:
            raise NotSimple
    if not seen:
        raise NotSimple


def _split_parts(blocks: Iterator[str]) -> Iterator[tuple[str, str]]:
    """Yield the top-level keys with their lines. Each plant is yielded separately, as the line `plants:` and its own lines.

    The text before the first key is yielded with an empty key.
    """
    seen: set[str] = set()
    key = line_of_key = ""
    pieces: list[str] = []
    find = _find_key
    for lines in blocks:
        block = f"\n{lines}"
        begin, at = 1, 0
        while (found := find(block, at)) is not None:
            line = at = found.start() + 1
            is_key = block[line] != " " and not block.startswith("- ", line)
            if find is _find_content and not is_key:  # the first line of the first plant
                indent = block[line : found.end() - 1]
                find = re.compile(f"\n(?:{_KEY_AT_START}|{indent}- )").search
                continue
            yield key, "".join([*pieces, block[begin:line]])
            begin = line
            if is_key:
                named = _key_of(block, line)
                if named is None or named[1] in seen:
                    raise NotSimple
                key, pieces = named[1], []
                seen.add(key)
                line_of_key = block[line : block.index("\n", line) + 1]
                find = _find_content if key == PLANTS else _find_key
            else:
                pieces = [line_of_key]
        pieces.append(block[begin:])
    yield key, "".join(pieces)


def _blocks(text: TextIO, begin: str | None) -> Iterator[str]:
    """Yield the text in blocks of whole lines. `begin` is the first block, if the caller has read it already.

    Raises NotSimple if a line is too long, or has a character that `has_odd_characters` finds.
    """
    block, rest = text.read(BLOCK) if begin is None else begin, ""
    while block:
        if len(rest) > BLOCK or has_odd_characters(block):
            raise NotSimple
        lines, newline, after = block.rpartition("\n")
        if newline:
            yield f"{rest}{lines}\n"
            rest = after
        else:
            rest += block
        block = text.read(BLOCK)
    if rest:
        yield f"{rest}\n"


def _read_rows(part: str) -> list[_Row]:
    """Split the lines that are neither empty nor comments. Raises NotSimple if one of them is not simple YAML."""
    rows = _split_lines(part)
    if len(rows) != part.count("\n"):
        contents = [line for line in part.split("\n") if (content := line.lstrip(" ")) and content[0] != "#"]
        if len(rows) != len(contents):
            raise NotSimple
    return rows


def _read_part(key: str, found: Raw) -> Raw:
    """Return the value of the key in the mapping `found`.

    The value of `plants` is a list of one plant. For the key `plants`, return this plant.

    Raises NotSimple if the value of `plants` is not such a list.
    """
    value = found.get(key) if isinstance(found, dict) else None
    if key != PLANTS:
        return value
    if not isinstance(value, list) or len(value) != 1:
        raise NotSimple
    return value[0]


def _read_entries(lines: str, read_short: Callable[[str], Raw]) -> dict[str, Raw] | None:
    """Return the mapping that the lines contain, or None if they are not a mapping in simple YAML."""
    try:
        value = _Block(_read_rows(lines), read_short).read()
    except NotSimple:
        return None
    return value if isinstance(value, dict) else None


class _Block:
    """Reads block lists and mappings. `rows` are the lines of one plant or of another top-level key, split into their parts.

    All methods raise NotSimple if the rows are not simple YAML.

    `read_short` reads short values in brackets. It may return the same object for two equal values. `repeated` has the records
    that `Repeats.cut` took out of the text. In the place of each record, `rows` has a list item with `MARK` and the index of
    the record.
    """

    def __init__(self, rows: list[_Row], read_short: Callable[[str], Raw], repeated: Sequence[RepeatedRecord] = ()) -> None:
        self._rows = rows
        self._read_short = read_short
        self._repeated = repeated
        self._at = 0
        self._depth = 0

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
        indent, dash, *_ = self._rows[self._at]
        begin = len(indent)
        self._depth += 1
        if self._depth > MAX_DEPTH // 2 or begin < column or (begin == column and not dash):
            raise NotSimple
        value = self._read_list(begin) if dash else self._read_mapping(begin)
        self._depth -= 1
        return value

    def _read_list(self, column: int) -> list[Raw]:
        items: list[Raw] = []
        while self._at < len(self._rows):
            indent, dash, key, _, _, _, item = self._rows[self._at]
            begin = len(indent)
            if begin < column or (begin == column and not dash):
                break
            if begin > column:
                raise NotSimple
            if key:
                items.append(self._read_mapping(column + 2))
            else:
                items.append(self._repeated[int(item[1:])] if item[0] == MARK else _read_value(item))
                self._at += 1
        return items

    def _read_mapping(self, column: int) -> dict[str, Raw]:
        """Read the mapping whose keys are at the column.

        Its first line may begin a list item. Then the dash is before the first key.
        """
        entries: dict[str, Raw] = {}
        rows, at, spaces = self._rows, self._at, " " * column
        while True:
            _, _, key, plain, quoted, other, _ = rows[at]
            if not key or key in entries:
                raise NotSimple
            at += 1
            if plain:
                entries[key] = plain
            elif quoted:
                entries[key] = _unquote(quoted)
            elif other:
                entries[key] = self._read_short(other) if len(other) <= _SHORT else _read_value(other)
            else:
                self._at = at
                entries[key] = self._read_under(column)
                at = self._at
            if at == len(rows):
                break
            indent, dash, _, _, _, _, _ = rows[at]
            if indent != spaces or dash:
                if len(indent) < column:
                    break
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
    return _unquote(quoted)


def _unquote(quoted: str) -> Raw:
    return (json.loads(quoted),) if quoted[0] == '"' else (quoted[1:-1].replace("''", "'"),)


def _read_flow(text: str, at: int, depth: int) -> tuple[Raw, int]:
    """Read a list or mapping in brackets, or a value inside such a list or mapping.

    Return the value and the position after the value. Raises NotSimple if the text is not simple YAML.
    """
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
