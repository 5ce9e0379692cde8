"""`domogate backup` and `domogate restore`."""

from pathlib import Path
from typing import Annotated

import typer

from domogate.app import open_tools, restore_backup
from domogate.cli._command import Mistake, command
from domogate.cli._output import Force, note
from domogate.domain.ids import new_id
from domogate.services.audit.log import AuditAction
from domogate.services.people.people import COMMAND_LINE
from domogate.settings import Settings


def register(cli: typer.Typer) -> None:
    command(cli, "backup")(back_up)
    command(cli, "restore")(restore)


async def back_up(
    settings: Settings,
    file: Annotated[Path, typer.Argument(help="Where to write it; it holds secrets.")],
    force: Force = False,
) -> None:
    """Write a consistent copy of everything the gateway keeps, while it goes on running."""
    if file.exists() and not force:
        raise Mistake(f"{file} is there already; --force replaces it.")
    if not file.absolute().parent.is_dir():
        raise Mistake(f"there is no folder {file.absolute().parent}.")
    # The store never overwrites anything: an old backup gives way only once the new one is whole.
    fresh = file.with_name(f".{file.name}.{new_id()}")
    try:
        async with open_tools(settings) as tools:
            await tools.store.backup(fresh)
            tools.people.note(AuditAction.BACKUP, COMMAND_LINE, "store")
        fresh.replace(file)
    except ValueError as error:
        raise Mistake(str(error)) from None
    finally:
        fresh.unlink(missing_ok=True)
    note(f"Wrote {file}. Keep it safe: it holds signing keys and password hashes.")


async def restore(
    settings: Settings, file: Annotated[Path, typer.Argument(help="A file that `domogate backup` wrote.")]
) -> None:
    """Fill an empty data folder from a backup. Replaces nothing: move the old folder away first, with the gateway stopped."""
    if not file.is_file():
        raise Mistake(f"there is no file {file}.")
    try:
        await restore_backup(settings, file)
    except (ValueError, FileExistsError) as error:
        raise Mistake(str(error)) from None
    note(f"Restored {file} into {settings.data}.")
