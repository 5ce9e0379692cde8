"""The table of faults in docs/errors.md: codes, names and ladders are from the code, the other columns are written by hand."""

from collections.abc import Iterator

from docsite.reference.markdown import write_table
from docsite.reference.parts import read_table
from domogate.domain import faults
from domogate.families._ladder import LADDER

NOT_WRITTEN = "(not written yet)"
_BY_HAND = ("when", "example")


def list_faults(kind: type[faults.Fault] = faults.Fault) -> Iterator[type[faults.Fault]]:
    """Yield the faults of the domain."""
    for child in kind.__subclasses__():
        if child.__module__ == faults.__name__:
            yield child
        yield from list_faults(child)


def write_faults(present: str) -> str:
    """Return the table. It keeps the columns that are written by hand. A new fault gets the text `NOT_WRITTEN` there."""
    texts = {row["fault"]: row for row in read_table(present)}
    rows = []
    for kind in sorted(set(list_faults()), key=lambda kind: kind.code):
        name = f"`{kind.__name__}`"
        when, example = (texts[name][column] if name in texts else NOT_WRITTEN for column in _BY_HAND)
        rows.append((str(kind.code), name, when, ", ".join(map(str, LADDER[kind])), example))
    return write_table(("code", "fault", "when", "ladder", "example"), rows)
