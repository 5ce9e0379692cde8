"""Checks of the machine: the data folder, its disk, the limit of open files, and the certificate."""

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from domogate.app.doctor.backups import check_backups
from domogate.app.doctor.certificate import check_certificate
from domogate.app.doctor.findings import Finding, in_another_folder, ok, problem, warning
from domogate.app.parts import find_database_file
from domogate.common.owners import describe_denied
from domogate.edge.files import count_allowed_connections
from domogate.settings import Settings

MB = 1_000_000
LITTLE_SPACE, NO_SPACE = 1_000 * MB, 100 * MB
"""In bytes. There is a warning if the free space is less than `LITTLE_SPACE` or less than the size of the database. There is a
problem if the free space is less than `NO_SPACE`.
"""


def check_machine(settings: Settings, *, gateway_at: str | None) -> Iterator[Finding]:
    """Check the data folder, the free space, the backups, the limit of open files, and the certificate.

    `gateway_at` is the address at which a gateway answers, or None if no gateway answers.
    """
    yield from check_folder(settings.data.absolute(), gateway_at)
    if settings.data.is_dir():
        yield check_disk(settings)
    if settings.backup_every is not None:
        yield from check_backups(settings, settings.backup_every)
    yield check_open_files(settings.connections_most)
    if settings.tls_certificate is not None:
        yield from check_certificate(settings, settings.tls_certificate)


def check_folder(folder: Path, gateway_at: str | None) -> Iterator[Finding]:
    """Check that only the owner can read the data folder and its files, and that this process may write to the folder."""
    if not folder.exists() and gateway_at is not None:
        yield in_another_folder("data folder", f"{folder} does not exist", gateway_at)
        return
    if not folder.exists():
        yield warning(
            "data folder", f"{folder} does not exist yet.", "`domogate serve` creates it. Or name another folder with --data."
        )
        return
    if not folder.is_dir():
        yield problem("data folder", f"{folder} is not a folder.", "Name a folder with --data or DOMOGATE_DATA.")
        return
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        yield problem(
            "data folder",
            f"this user may not write to {folder}. {describe_denied(folder)}",
            "Run this command and the gateway as the same user, or give the folder to this user (chown).",
        )
        return
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and not path.is_symlink()]
    open_to_others = [path for path in (folder, *files) if stat.S_IMODE(path.stat().st_mode) & 0o077]
    if open_to_others:
        names = " ".join(map(str, open_to_others))
        yield warning("data folder", f"other users of this machine may read {names}.", f"Run: chmod go-rwx {names}")
    else:
        yield ok("data folder", f"{folder} is writable, and only its owner can read it.")


def check_disk(settings: Settings) -> Finding:
    free = shutil.disk_usage(settings.data).free
    database = find_database_file(settings)
    size = database.stat().st_size if database is not None and database.is_file() else 0
    says = f"{free / MB:,.0f} MB are free in {settings.data.absolute()}."
    advice = "Delete files that are not needed, or move the data folder to a larger disk. A full disk refuses every write."
    if free < NO_SPACE:
        return problem("disk", says, advice)
    if free < max(LITTLE_SPACE, size):
        return warning("disk", f"{says} The database has {size / MB:,.0f} MB, and a backup needs as much again.", advice)
    return ok("disk", says)


def check_open_files(connections: int) -> Finding:
    allowed = count_allowed_connections(connections)
    if allowed >= connections:
        return ok("open files", f"this process may have {connections:,} connections.")
    return problem(
        "open files",
        f"this process may have {max(0, allowed):,} connections, and the setting connections_most is {connections:,}.",
        "Raise the hard limit of open files (ulimit -n, LimitNOFILE= of systemd), or lower connections_most and streams_most.",
    )
