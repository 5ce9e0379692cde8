"""The CPU time of steps that a request cannot do without: signatures and commits. Each is measured alone, without our code."""

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256

_TIMES = 1_000
_MESSAGE = b"x" * 500
_ES256 = ECDSA(SHA256())

Readings = Sequence[tuple[int, int, int, float]]


def cpu_of_signature(times: int = _TIMES) -> float:
    """The CPU-seconds of one ES256 signature."""
    key = generate_private_key(SECP256R1())
    return _cpu_each(lambda: key.sign(_MESSAGE, _ES256), times)


def cpu_of_verification(times: int = _TIMES) -> float:
    """The CPU-seconds of the verification of one ES256 signature."""
    key = generate_private_key(SECP256R1())
    signature, public_key = key.sign(_MESSAGE, _ES256), key.public_key()
    return _cpu_each(lambda: public_key.verify(signature, _MESSAGE, _ES256), times)


def cpu_of_commit(rows: int, times: int = _TIMES) -> float:
    """The CPU-seconds of one durable commit in SQLite that adds this number of rows."""
    with _open_database("CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT)") as connection:

        def commit() -> None:
            connection.execute("BEGIN IMMEDIATE")
            for _ in range(rows):
                connection.execute("INSERT INTO rows (text) VALUES (?)", ("x" * 100,))
            connection.execute("COMMIT")

        return _cpu_each(commit, times)


@contextmanager
def readings_in_sqlite() -> Iterator[Callable[[Readings], float]]:
    """A function that writes readings in one commit, and returns the CPU-seconds. A reading is slot, series, ms and value."""
    key = "PRIMARY KEY (slot, series, ms)"
    with _open_database(
        f"CREATE TABLE readings (slot INTEGER, series INTEGER, ms INTEGER, value DOUBLE, {key}) WITHOUT ROWID"
    ) as connection:

        def write(readings: Readings) -> float:
            started = time.process_time()
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT INTO readings VALUES (?, ?, ?, ?)", readings)
            connection.execute("COMMIT")
            return time.process_time() - started

        yield write


def cpu_of_command(sharing: int) -> float:
    """The CPU-seconds of the rows of one command in SQLite. The command has two commits. `sharing` commands share a commit.

    The first commit adds the order. The second commit changes the order and the state, and adds the change, two readings and
    the entry of the audit log.
    """
    text = "x" * 200
    with _open_database(
        "CREATE TABLE orders (id TEXT PRIMARY KEY, text TEXT, state TEXT)",
        "CREATE TABLE states (id INTEGER PRIMARY KEY, text TEXT)",
        "CREATE TABLE added (id INTEGER PRIMARY KEY, text TEXT)",
    ) as connection:
        numbers = count()

        def commit() -> None:
            orders = [(f"order-{next(numbers)}",) for _ in range(sharing)]
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(f"INSERT INTO orders VALUES (?, '{text}', 'sent')", orders)
            connection.execute("COMMIT")
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("UPDATE orders SET state = 'confirmed' WHERE id = ?", orders)
            connection.executemany("REPLACE INTO states VALUES (?, ?)", [(number, text) for number in range(sharing)])
            connection.executemany("INSERT INTO added (text) VALUES (?)", [(text,)] * (4 * sharing))
            connection.execute("COMMIT")

        return _cpu_each(commit) / sharing


@contextmanager
def _open_database(*tables: str) -> Iterator[sqlite3.Connection]:
    with TemporaryDirectory() as folder, closing(sqlite3.connect(Path(folder) / "x.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        for table in tables:
            connection.execute(table)
        yield connection


def _cpu_each(work: Callable[[], object], times: int = _TIMES) -> float:
    started = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - started) / times
