"""`domogate move`: copies the data from the SQLite file to a PostgreSQL database, before a gateway joins a cluster."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

from domogate.cli._command import Mistake, WrongUsage, command, top_level
from domogate.cli._options import option
from domogate.cli._output import note, progress_bar
from domogate.cli._owner import refuse_root
from domogate.settings import Settings
from domogate.settings.loading import has_password

commands = top_level()


@command(commands, "move")
async def move(
    settings: Settings,
    to: Annotated[str | None, option("URL", "Database to fill, such as postgresql://user@host/name. It must be empty.")] = None,
    to_file: Annotated[Path | None, option("FILE", "File with this URL, for a URL with a password.")] = None,
) -> None:
    """Copy all data of a stopped gateway from SQLite to an empty PostgreSQL database, and compare both databases.

    People, keys, grants, signing keys, history and the audit log are copied, so tokens and refresh tokens stay valid. The
    SQLite file keeps its data. If an older version wrote it, its tables are migrated first. If the copy fails, the tables in
    PostgreSQL stay without rows, and you can run the command again.
    """
    from domogate.app.moving import GatewayRuns, MoveProgress, MoveRefused, move_store

    target = _find_target(to, to_file)
    refuse_root(settings)
    with ExitStack() as bars:

        def show_progress(rows: int) -> MoveProgress:
            return MoveProgress(
                bars.enter_context(progress_bar("Copying", rows)), bars.enter_context(progress_bar("Comparing", rows))
            )

        try:
            moved, compared = await move_store(settings, target, show_progress)
        except (MoveRefused, GatewayRuns) as error:
            raise Mistake(str(error)) from None
    note(f"Copied {moved.total} rows of {len(moved.rows)} tables. Both databases have the same rows.")
    note(f"Compared {compared.answers} answers, and the audit log with {compared.audit_entries} records.")
    note(
        "Now start the gateways with this database, with nats and cluster, and with the secret key of this folder:\n"
        "  domogate serve --database-file FILE --nats nats://HOST:4222 --cluster NAME"
        f" --secret-key-file {settings.data / 'secret-key'}"
    )


def _find_target(to: str | None, to_file: Path | None) -> str:
    if (to is None) == (to_file is None):
        raise WrongUsage("give --to URL or --to-file FILE")
    if to is not None:
        if has_password(to):
            raise WrongUsage("everybody on this machine can read a password on the command line: use --to-file FILE")
        return to
    assert to_file is not None
    try:
        return to_file.read_text("utf-8").strip()
    except (OSError, UnicodeError) as error:
        raise Mistake(f"{to_file} cannot be read: {error}") from None
