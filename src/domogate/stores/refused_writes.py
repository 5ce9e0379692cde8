"""Explains why SQLite cannot write: the disk is full, read-only or broken (Decision 0133)."""

import sqlite3
from pathlib import Path

from domogate.ports import StoreNotWritable

_FAILED_READS = frozenset((sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_SHORT_READ))
_CONTINUES = "; a running gateway then continues by itself"
_STOPPED_BY_LINUX = (
    ". If the log of the system says that Linux made the file system read-only after an error, this is not enough: stop the"
    " gateway, unmount the disk, run fsck, mount the disk, and start the gateway"
)
"""For messages: an ext4 file system that Linux has stopped (aborted journal) is writable again only after a new mount."""
_REASONS = {
    sqlite3.SQLITE_FULL: f"its disk is full. Free space on this disk{_CONTINUES}",
    sqlite3.SQLITE_READONLY: "its file system is read-only, or its files belong to another user. Make the data folder writable"
    f"{_CONTINUES}{_STOPPED_BY_LINUX}",
    sqlite3.SQLITE_IOERR: "its disk refuses writes. Check the disk, its free space and the log of the system; when the disk"
    f" accepts writes, a running gateway continues by itself{_STOPPED_BY_LINUX}",
}


def find_cause(error: Exception) -> Exception:
    """Return the error of the database driver if SQLAlchemy has wrapped it in a DBAPIError. Otherwise return the error itself.

    This function works without the class DBAPIError, because short commands do not import SQLAlchemy (Decision 0098).
    """
    cause = getattr(error, "orig", None)
    return cause if isinstance(cause, Exception) else error


def explain_refused_write(path: Path, error: Exception) -> Exception:
    """Return the error itself, or a StoreNotWritable if the error means that SQLite cannot write."""
    cause = find_cause(error)
    if not isinstance(cause, sqlite3.DatabaseError):
        return error
    code = getattr(cause, "sqlite_errorcode", 0)
    reason = None if code in _FAILED_READS else _REASONS.get(code & 0xFF)
    if reason is None:
        return error
    return StoreNotWritable(f"the database {path} cannot be written: {reason}")
