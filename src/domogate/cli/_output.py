"""Results go to standard output, for people or, with --json, for scripts; everything else goes to standard error."""

import os
import tempfile
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.table import Table

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there.")]


def note(text: str) -> None:
    typer.echo(text, err=True)


def print_json(value: Any) -> None:
    typer.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = 10_000  # a pipe has no edge to cut lines at
    console.print(table)


def iso(moment: float | None) -> str | None:
    return None if moment is None else datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")


def write_file(path: Path, text: str) -> None:
    """All or nothing, and for the owner's eyes only: what the gateway writes about itself is mostly secret."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
