"""Prints results to standard output, as a table, or as JSON with --json. Other messages go to standard error."""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Annotated, Any

import click
import msgspec

from domogate.cli._options import flag
from domogate.cli._table import print_table

AsJson = Annotated[bool, flag("--json", "Print JSON, for scripts.")]


def note(text: str) -> None:
    click.echo(text, err=True)


@contextmanager
def progress_bar(label: str, length: int) -> Iterator[Callable[[int], None]]:
    """Yields a function that advances the bar. The bar is shown only on a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    with click.progressbar(length=length, label=label, file=sys.stderr) as bar:
        yield bar.update


def print_json(value: Any) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def print_list(as_json: bool, shown: Any, columns: Sequence[str], rows: Iterable[Sequence[str | None]]) -> None:
    """Print a list: `shown` as JSON if `as_json` is true, otherwise `columns` and `rows` as a table."""
    if as_json:
        print_json(shown)
    else:
        print_table(columns, rows)


def print_records(as_json: bool, records: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Print records as JSON, or some of their fields as a table."""
    rows = ([None if record[column] is None else str(record[column]) for column in columns] for record in records)
    print_list(as_json, records, [column.replace("_", " ") for column in columns], rows)


def print_fields(fields: Iterable[tuple[str, str | None]]) -> None:
    """Print one `name: value` on each line. A dash is printed for an empty or missing value."""
    for name, value in fields:
        click.echo(f"{name}: {value or '-'}")


def note_more(found: Sequence[object], limit: int, flag: str) -> None:
    if len(found) >= limit:
        note(f"There may be more. Add {flag} to see what follows.")


def iso(moment: float | None) -> str | None:
    return None if moment is None else datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")


def local_iso(moment: float) -> str:
    """Return the time in the time zone of this machine, with its offset."""
    return datetime.fromtimestamp(moment, UTC).astimezone().isoformat(timespec="seconds")


def yes_or_no(value: bool) -> str:
    return "yes" if value else "no"


def describe_values(fields: Mapping[str, object]) -> str:
    """Return the fields as text, for example 'on: yes, set point: 21 celsius'. Fields without a value are left out."""
    return ", ".join(
        f"{name.replace('_', ' ')}: {_word(value)}" for name, value in fields.items() if value is not None and value != ()
    )


def _word(value: object) -> str:
    if isinstance(value, bool):
        return yes_or_no(value)
    if isinstance(value, dict):
        return f"{value['value']:g} {value['unit']}" if "unit" in value else " ".join(map(_word, value.values()))
    if isinstance(value, tuple | list):
        return " ".join(str(one["type"]) if isinstance(one, dict) else _word(one) for one in value)
    return str(value).removesuffix(".0")


_CAPITAL = re.compile(r"[A-Z]")


def as_printed(wire: Any) -> Any:
    """Return an object of the management API as plain data for --json. The names of its fields are in snake_case."""
    return _respell(msgspec.to_builtins(wire))


def _respell(value: Any) -> Any:
    if isinstance(value, dict):
        return {_CAPITAL.sub(lambda letter: f"_{letter[0].lower()}", name): _respell(field) for name, field in value.items()}
    return [_respell(one) for one in value] if isinstance(value, list | tuple) else value
