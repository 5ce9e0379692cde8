"""Finds the records of a plant that differ from an earlier record only in their ids and their name.

Most modules of a large estate are such records. Below the name, they have the same lines as an earlier record. So these lines
are read, checked and converted only once.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

HEAD = ("id", "internalId", "name")
"""The keys whose values differ between repeated records. They are the first keys of a record in an export."""
MARK = "\0"
"""The first character of a line that replaces a repeated record. An estate file cannot contain this character."""
MOST_RESTS = 1_000
"""The rest of a record is its lines after the keys of HEAD. The checked and converted content of a rest is kept for the records
with the same rest, but for at most this number of different rests.
"""
_LONGEST = 400
_MOST_LINES = 8


class RepeatedRecord(dict[str, Any]):
    """A record that begins with its ids and its name, the keys of HEAD. `rest` is the text of its other lines.

    Two records with the same `rest` differ only in their ids and names.
    """

    __slots__ = ("rest",)

    def __init__(self, rest: str, entries: Mapping[str, Any]) -> None:
        super().__init__(entries)
        self.rest = rest


class Repeats:
    """Replaces each repeated record (see RepeatedRecord) by one short line.

    `plain` is the regular expression of a value without quotes. `read` gets lines of a record and returns the mapping that they
    contain. It returns None if they are not a mapping in simple YAML.
    """

    def __init__(self, plain: str, read: Callable[[str], dict[str, Any] | None]) -> None:
        an_id = "[0-9A-Fa-f-]{36}"
        line = r"\1  (?! *- id: ).*\n"
        self._find = re.compile(
            rf"^( +)- id: ({an_id})\n\1  internalId: ({an_id})\n\1  name: (?!null$)({plain})\n"
            # The next line must begin the next record, or end the list. Other lines could belong to this record.
            rf"(\1  [A-Za-z_].*\n(?:{line}){{0,{_MOST_LINES}}})(?=\1- |\Z|(?!\1) *[^ #\n])",
            re.MULTILINE,
        )
        self._read = read
        self._rests: dict[str, dict[str, Any] | None] = {}

    def cut(self, part: str) -> tuple[str, list[RepeatedRecord]]:
        """Return the text with a short line for each repeated record, and the list of these records.

        The line of a record has MARK and the index of the record in the list.
        """
        records: list[RepeatedRecord] = []

        def shorten(found: re.Match[str]) -> str:
            indent, identity, internal_id, name, rest = found.groups()
            entries = self._entries(rest)
            if entries is None:
                return found[0]
            record = RepeatedRecord(rest, entries)
            record["id"], record["internalId"], record["name"] = identity, internal_id, name
            records.append(record)
            return f"{indent}- {MARK}{len(records) - 1}\n"

        return self._find.sub(shorten, part), records

    def _entries(self, rest: str) -> dict[str, Any] | None:
        """Return all entries of a record except those with the keys of HEAD. `rest` is the text of the returned entries.

        Return None if these entries alone cannot be read or kept. Then the whole record must be read.
        """
        if rest not in self._rests:
            if len(self._rests) >= MOST_RESTS or len(rest) > _LONGEST:
                return None
            entries = self._read(rest)
            self._rests[rest] = None if entries is None or not entries.keys().isdisjoint(HEAD) else entries
        return self._rests[rest]
