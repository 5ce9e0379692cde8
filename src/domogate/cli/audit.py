"""`domogate audit …`: who did what, and that the record of it is still what it was."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from domogate.app import open_tools
from domogate.cli._command import FAILED, Mistake, command
from domogate.cli._output import AsJson, Force, iso, note, print_json, print_table
from domogate.cli._people import find_user
from domogate.cli._words import parse_duration
from domogate.settings import Settings

audits = typer.Typer(help="The audit log: list, verify, export.", no_args_is_help=True)


def register(cli: typer.Typer) -> None:
    cli.add_typer(audits, name="audit")


@command(audits, "list")
async def list_records(
    settings: Settings,
    action: Annotated[str | None, typer.Option(metavar="WORDS", help="Only of this action, as 'login'.")] = None,
    user: Annotated[str | None, typer.Option(metavar="EMAIL", help="Only by or about this user.")] = None,
    last: Annotated[str | None, typer.Option(metavar="TIME", help="Only of the last 7d, 12h, 30m or 45s.")] = None,
    after: Annotated[int, typer.Option(min=0, metavar="NUMBER", help="Only what follows this number.")] = 0,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="How many at most, the oldest first.")] = 100,
    as_json: AsJson = False,
) -> None:
    """List what was noted, the oldest first."""
    seconds = None if last is None else parse_duration(last)
    async with open_tools(settings) as tools:
        user_id = None if user is None else (await find_user(tools, user)).id
        since = None if seconds is None else tools.clock.now() - seconds
        found = await tools.audit.list(after=after, limit=limit, action=action, user_id=user_id, since=since)
    if as_json:
        print_json(found)
        return
    rows = [
        (str(one.number), iso(one.entry.at) or "", one.entry.action, one.entry.who, one.entry.what, one.entry.result,
         one.entry.address or "-", ", ".join(f"{name}: {text}" for name, text in one.entry.detail.items()) or "-")
        for one in found
    ]  # fmt: skip
    print_table(("number", "at", "action", "who", "what", "result", "address", "detail"), rows)
    if len(found) == limit:
        note(f"There may be more: --after {found[-1].number} goes on.")


@command(audits, "verify")
async def verify(
    settings: Settings,
    last_hash: Annotated[
        str | None, typer.Option(metavar="HASH", help="As an earlier check printed it: shows that the end was not cut off.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Recompute the chain of hashes, and name the first record that is not what was written. Prints the last hash."""
    async with open_tools(settings) as tools:
        result = await tools.audit.verify(last_hash=last_hash)
    if as_json:
        print_json(result)
    elif result.broken is None:
        typer.echo(result.last_hash)
        before = f" The {result.removed} before them were removed when their time was over." if result.removed else ""
        note(f"All {result.records} records are as they were written.{before} Keep the hash elsewhere, for the next check.")
    if result.broken is not None:
        note(f"domogate: record {result.broken.number}: {result.broken.problem}.")
        raise typer.Exit(FAILED)


@command(audits, "export")
async def export(
    settings: Settings,
    file: Annotated[Path | None, typer.Argument(help="Where to write it; standard output when left out.")] = None,
    after: Annotated[int, typer.Option(min=0, metavar="NUMBER", help="Only what follows this number.")] = 0,
    force: Force = False,
) -> None:
    """Write the log as JSON lines, whose chain anybody can recompute."""
    if file is not None and file.exists() and not force:
        raise Mistake(f"{file} is there already; --force replaces it.")
    written = 0
    async with open_tools(settings) as tools:
        sink = sys.stdout.buffer if file is None else file.open("wb")
        try:
            async for line in tools.audit.export(after):
                sink.write(line)
                written += 1
            sink.flush()
        finally:
            if file is not None:
                sink.close()
    if file is not None:
        note(f"Wrote {written} records into {file}.")
