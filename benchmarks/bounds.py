"""The CPU time of steps that a request cannot do without: signatures and commits. Each is measured alone, without our code."""

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256

_TIMES = 1_000
_MESSAGE = b"x" * 500
_ES256 = ECDSA(SHA256())


def cpu_of_signature() -> float:
    """The CPU-seconds of one ES256 signature."""
    key = generate_private_key(SECP256R1())
    return _cpu_each(lambda: key.sign(_MESSAGE, _ES256))


def cpu_of_verification() -> float:
    """The CPU-seconds of the verification of one ES256 signature."""
    key = generate_private_key(SECP256R1())
    signature, public_key = key.sign(_MESSAGE, _ES256), key.public_key()
    return _cpu_each(lambda: public_key.verify(signature, _MESSAGE, _ES256))


def cpu_of_commit(rows: int) -> float:
    """The CPU-seconds of one durable commit in SQLite that adds this number of rows."""
    with TemporaryDirectory() as folder, closing(sqlite3.connect(Path(folder) / "x.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT)")

        def commit() -> None:
            connection.execute("BEGIN IMMEDIATE")
            for _ in range(rows):
                connection.execute("INSERT INTO rows (text) VALUES (?)", ("x" * 100,))
            connection.execute("COMMIT")

        return _cpu_each(commit)


def _cpu_each(work: Callable[[], object]) -> float:
    started = time.process_time()
    for _ in range(_TIMES):
        work()
    return (time.process_time() - started) / _TIMES
