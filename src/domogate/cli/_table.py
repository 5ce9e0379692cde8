"""Prints a table on standard output. On a terminal, long cells are cut, so that each row is one line."""

import sys
from collections.abc import Iterable, Sequence
from shutil import get_terminal_size
from unicodedata import combining, east_asian_width

import click

_GAP = "  "
_NARROWEST = 4


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str | None]]) -> None:
    """Print the rows under their columns. None is printed as a dash."""
    table = [[_on_one_line("-" if cell is None else cell) for cell in row] for row in (columns, *rows)]
    widths = [max(map(_width, column)) for column in zip(*table, strict=True)]
    if sys.stdout.isatty():
        _narrow(widths, get_terminal_size().columns)
    for number, row in enumerate(table):
        line = _GAP.join(_fit(cell, width) for cell, width in zip(row, widths, strict=True))
        click.secho(line.rstrip(), bold=number == 0)


def _on_one_line(text: str) -> str:
    """Return the text with spaces instead of control characters, because a terminal would execute them."""
    return text if text.isprintable() else "".join(one if one.isprintable() else " " for one in text)


def _width(text: str) -> int:
    """Return the width of the text on a terminal. Some characters, such as 家, are two characters wide."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(one) else 2 if east_asian_width(one) in "WF" else 1 for one in text)


def _narrow(widths: list[int], most: int) -> None:
    """Make the widest columns narrower until a line has at most `most` characters, or no column is wider than `_NARROWEST`."""
    while sum(widths) + len(_GAP) * (len(widths) - 1) > most and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1


def _fit(text: str, width: int) -> str:
    if _width(text) > width:
        while _width(text) >= width:
            text = text[:-1]
        text += "…"
    return text + " " * (width - _width(text))
