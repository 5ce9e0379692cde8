"""Refuses a second gateway on the same SQLite database."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from domogate.app.parts import find_database_file
from domogate.settings import Settings


class GatewayRuns(Exception):
    """Another gateway uses the database, so this gateway or command does not start. The message says what to do."""


@contextmanager
def only_gateway(settings: Settings) -> Iterator[None]:
    """Hold a lock on the folder of the SQLite database during the `with` block. If the database is not SQLite, do nothing.

    If the folder does not exist, or if the system cannot lock folders, the block runs without a lock.

    The system releases the lock if the process is killed.

    Raises GatewayRuns if another process holds the lock.
    """
    file = find_database_file(settings)
    if file is None or not file.parent.is_dir():
        yield
        return
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        _lock(folder, file.parent)
        yield
    finally:
        os.close(folder)


def _lock(descriptor: int, folder: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Windows has no locks of this kind.
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise GatewayRuns(
            f"another gateway runs on the data in {folder.absolute()}. Stop it first, or choose another folder with --data.\n"
            "Several gateways cannot share a SQLite file. They can be a cluster, with the settings database (a PostgreSQL URL),"
            " nats and cluster."
        ) from None
    except OSError:  # Some network file systems cannot lock a folder.
        return
