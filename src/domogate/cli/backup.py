"""The commands `domogate backup` and `domogate restore`."""

from pathlib import Path
from typing import Annotated

from domogate.app import back_up_unwritable, is_store_writable, restore_backup
from domogate.cli._command import Mistake, command, reading, top_level
from domogate.cli._files import Force, check_folder, check_free
from domogate.cli._options import argument, flag
from domogate.cli._output import note
from domogate.cli._owner import refuse_root
from domogate.ports import SecretKeyMissing
from domogate.services.audit import AuditAction
from domogate.services.people import COMMAND_LINE
from domogate.settings import Settings

commands = top_level()


@command(commands, "backup")
async def back_up(
    settings: Settings,
    file: Annotated[Path, argument("FILE", "File to write. It contains secrets.")],
    force: Force = False,
    replace_larger: Annotated[
        bool,
        flag("--replace-larger", "Like --force, but also replace a backup that --force does not replace."),
    ] = False,
) -> None:
    """Write a consistent copy of the store to a file. The gateway may be running.

    --force does not replace an earlier backup that has newer changes than the new backup. It also does not replace a backup
    of another database that has more plants, modules or users than the new backup. The command also works if the database
    is on a read-only file system. The backup file must then be on another file system.
    """
    check_free(file, force or replace_larger)
    check_folder(file)
    try:
        if is_store_writable(settings):
            async with reading(settings) as tools:
                key_id = await tools.store.backup(file, replace=force, replace_larger=replace_larger)
                tools.people.note(AuditAction.BACKUP, COMMAND_LINE, "store")
        else:
            key_id = await back_up_unwritable(settings, file, replace=force, replace_larger=replace_larger)
            note("The database cannot be written, so the audit log has no entry about this backup.")
    except ValueError as error:
        raise Mistake(str(error)) from None
    note(f"Wrote {file}. Keep it safe: it contains personal data and password hashes.")
    if key_id is None:  # A database of an old version. The first command that can write to it encrypts its secrets.
        note("The secrets in the backup are not encrypted: a restore needs no secret key, and a thief can read the secrets.")
    else:
        note(f"A restore needs the secret key {key_id}, which is not in the backup: keep a copy of the key in another place.")


@command(commands, "restore")
async def restore(settings: Settings, file: Annotated[Path, argument("FILE", "A file that `domogate backup` wrote.")]) -> None:
    """Restore a backup into a data folder without a database.

    To replace a database, first stop the gateway and move the old database away.

    The restore needs the secret key of the backup: first put the file secret-key into the folder, or use --secret-key-file.
    """
    if not file.is_file():
        raise Mistake(f"there is no file {file}.")
    refuse_root(settings)
    try:
        target = await restore_backup(settings, file)
    except (ValueError, FileExistsError, SecretKeyMissing) as error:
        raise Mistake(str(error)) from None
    note(f"Restored {file} to {target}.")
