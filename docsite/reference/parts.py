"""Writes the tables of pages that people write otherwise: a table is between two comments, and the text around it stays."""

import re
from collections.abc import Callable, Mapping

Writer = Callable[[str], str]
"""Gets the present text of a table, and returns the new text."""

_PART = re.compile(
    r"(?P<begin><!-- table: (?P<name>[\w &-]+), written by `\./dev reference` -->\n+)"
    r"(?P<text>.*?)(?P<end>\n+<!-- end of the table -->)",
    re.DOTALL,
)


def write_parts(page: str, writers: Mapping[str, Writer]) -> str:
    """Return the page with new tables. Raises ValueError if the page does not have exactly these tables."""
    names = [found["name"] for found in _PART.finditer(page)]
    if sorted(names) != sorted(writers):
        raise ValueError(f"the page has the tables {sorted(names)}, but these tables are written: {sorted(writers)}")
    return _PART.sub(lambda found: f"{found['begin']}{writers[found['name']](found['text'])}{found['end']}", page)


def read_table(text: str) -> list[dict[str, str]]:
    """Return the rows of a table."""
    header, _, *rows = ([cell.strip() for cell in line.strip("| ").split(" | ")] for line in text.splitlines())
    return [dict(zip(header, row, strict=True)) for row in rows]
