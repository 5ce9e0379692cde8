"""`domogate backup` and `domogate restore`."""

from pathlib import Path
from typing import Annotated

import typer

from domogate.app import find_key_of_backup, open_tools, restore_backup
from domogate.cli._command import Mistake, command
from domogate.cli._files import Force, check_free
from domogate.cli._output import note
from domogate.domain.ids import new_id
from domogate.ports import SecretKeyMissing
from domogate.services.audit import AuditAction
from domogate.services.people import COMMAND_LINE
from domogate.settings import Settings

commands = typer.Typer()


@command(commands, "backup")
async def back_up(
    settings: Settings,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write. It contains secrets.")],
    force: Force = False,
) -> None:
    """Write a consistent copy of the store to a file. The gateway may run meanwhile."""
    check_free(file, force)
    if not file.absolute().parent.is_dir():
        raise Mistake(f"there is no folder {file.absolute().parent}.")
    # The store never overwrites a file: an old backup is replaced only when the new one is complete.
    fresh = file.with_name(f".{file.name}.{new_id()}")
    try:
        async with open_tools(settings) as tools:
            await tools.store.backup(fresh)
            key_id = find_key_of_backup(fresh)
            tools.people.note(AuditAction.BACKUP, COMMAND_LINE, "store")
        fresh.replace(file)
    except ValueError as error:
        raise Mistake(str(error)) from None
    finally:
        fresh.unlink(missing_ok=True)
    note(f"Wrote {file}. Keep it safe: it contains personal data and password hashes.")
    note(f"A restore needs the secret key {key_id}, which is not in the backup: keep a copy of the key elsewhere.")


@command(commands, "restore")
async def restore(
    settings: Settings, file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `domogate backup` wrote.")]
) -> None:
    """Fill an empty data folder from a backup. To restore in place, stop the gateway and move the old folder away first.

    The secret key of the backup must be there: put the file secret-key into the new folder first, or use --secret-key-file.
    """
    if not file.is_file():
        raise Mistake(f"there is no file {file}.")
    try:
        await restore_backup(settings, file)
    except (ValueError, FileExistsError, SecretKeyMissing) as error:
        raise Mistake(str(error)) from None
    note(f"Restored {file} into {settings.data}.")
