"""CSV (RFC 4180) that a spreadsheet displays and never executes."""

import csv
import io
from collections.abc import Iterable, Sequence

# A spreadsheet interprets a text as a formula if it begins with one of these characters.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def print_csv(rows: Iterable[Sequence[object]], line_end: str = "\r\n") -> str:
    sink = io.StringIO()
    csv.writer(sink, lineterminator=line_end).writerows([_cell(value) for value in row] for row in rows)
    return sink.getvalue()


def _cell(value: object) -> object:
    """Return the content of a cell. A text that a spreadsheet would interpret as a formula gets an apostrophe in front."""
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return "" if value is None else value
