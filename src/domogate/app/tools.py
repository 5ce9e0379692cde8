"""The parts of a gateway that `domogate` commands need: the store and services, but not the HTTP server.

Imports take most of the time of a short command. So a part is built, and its modules are imported, when a command first uses
the part (Decision 0098).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from domogate import stores
from domogate.app.parts import SystemClock, build_sealer, find_database_file, open_part, open_store
from domogate.app.single_gateway import only_gateway
from domogate.domain.people import Subscription, oldest_first
from domogate.ports import Clock, Hasher, LeaseStore, ShardMap, Signer, Store
from domogate.settings import Settings
from domogate.stores import UsedDatabases, inspect_header, is_writable
from domogate.stores.prepared_file import read_rows

if TYPE_CHECKING:
    from domogate.app.services import SigningKeyAdministration
    from domogate.identity.rotation import KeyRotation
    from domogate.services.audit import AuditLog
    from domogate.services.people import People
    from domogate.services.plants.fault_injection import FaultInjector
    from domogate.services.plants.history import History


class Tools:
    """The store and the services that work on it. A gateway may run on the same store at the same time."""

    def __init__(self, settings: Settings, address: str | None, clock: Clock, store: Store, at_end: AsyncExitStack) -> None:
        self.settings = msgspec.structs.replace(settings, public_url=address)
        """The settings, with the URL of the gateway in `public_url` (None if the URL is not known)."""
        self.address_is_known = address is not None
        """False if no gateway has started on this store yet, and the settings have no `public_url`."""
        self.clock = clock
        self.store = store
        self._at_end = at_end

    @cached_property
    def hasher(self) -> Hasher:
        from domogate.identity.hashing import PasswordHasher

        hasher = PasswordHasher()
        self._at_end.callback(hasher.close)
        return hasher

    @cached_property
    def audit(self) -> "AuditLog":
        from domogate.services.audit import AuditLog

        audit = AuditLog(self.store, self.clock)
        audit.start()
        self._at_end.push_async_callback(audit.stop)
        return audit

    @cached_property
    def people(self) -> "People":
        from domogate.app.services import build_people

        return build_people(self.settings, self.store, self.hasher, self.clock, self.audit)

    @cached_property
    def signing_keys(self) -> "SigningKeyAdministration":
        from domogate.app.services import SigningKeyAdministration

        return SigningKeyAdministration(self.store, self.clock, self.settings.signing_algorithm)

    @cached_property
    def fault_injector(self) -> "FaultInjector":
        from domogate.services.plants.fault_injection import FaultInjector

        return FaultInjector(self.store, self.clock, self.audit)

    @cached_property
    def history(self) -> "History":
        from domogate.app.services import build_history

        return build_history(self.settings, self.store, self.clock, clock_check=None)

    async def open_signer(self) -> Signer:
        """Return the object that signs tokens. If the store has no signing key yet, add the first key."""
        from domogate.app.services import build_keyring, build_signer

        keyring = build_keyring(self.settings, self.store, self.clock)
        await keyring.start(is_gateway=False)
        return build_signer(self.settings, keyring, self.clock)


@asynccontextmanager
async def open_tools(settings: Settings, *, create: bool = True, temporary: bool = False) -> AsyncIterator[Tools]:
    """Yield the tools of a command, and close the store at the end. Gateways of the store may run in other processes.

    The URL in links and tokens is the setting `public_url`. If it is not set, the URL is that of the gateway that started last.
    If `create` is false, a missing data folder is not created: a database on a server works without this folder. If `temporary`
    is true, nobody needs the data after this process, so a commit does not wait for the disk.
    """
    clock, set_clock = _open_clock(settings)
    store = open_store(settings, clock, gateway=False, create=create, temporary=temporary)
    await store.start()
    async with AsyncExitStack() as at_end:
        at_end.push_async_callback(store.stop)
        await set_clock()
        address = settings.public_url or await store.find_address()
        yield Tools(settings, address, clock, store, at_end)


async def list_subscriptions(settings: Settings) -> tuple[Sequence[Subscription], float]:
    """Return all subscriptions of an existing store, and the time of its clock. The oldest subscription is first.

    Python imports only the modules of the store that are needed. If possible, it does not import SQLAlchemy.
    """
    file = find_database_file(settings)
    if file is not None:
        query = "SELECT * FROM subscriptions"
        found = read_rows(file, UsedDatabases(settings.data), build_sealer(settings), query, Subscription)
        if found is not None:
            return oldest_first(found), SystemClock().now()
    from domogate.stores.keys import SqlKeys  # Only this function needs this part of the store without the other parts.

    clock, set_clock = _open_clock(settings)
    store = open_part(SqlKeys, settings, clock, gateway=False, create=False, reads_only=True)
    await store.start()
    try:
        await set_clock()
        return await store.list_subscriptions(), clock.now()
    finally:
        await store.stop()


async def rotate_signing_keys(tools: Tools, *, now: bool = False) -> "KeyRotation":
    """Add a new signing key, which begins to sign after some time. It replaces the present key.

    If `now` is true, the new key signs at once, and all other keys are distrusted.
    """
    from domogate.identity.rotation import rotate_keys

    await tools.open_signer()  # The rotation replaces a key, so there must be one.
    return await rotate_keys(tools.store, tools.clock, algorithm=tools.settings.signing_algorithm, now=now)


async def back_up_unwritable(settings: Settings, path: Path, *, replace: bool, replace_larger: bool) -> str | None:
    """Make a backup of a SQLite database that this process may read but not write.

    Returns the id of the secret key that a restore needs, or None if the secrets are not encrypted. Raises DatabaseUnusable if
    the database is damaged or lost. Raises FileExistsError or ValueError if the file at `path` must not be replaced. Also
    raises ValueError if the database cannot be read or the copy cannot be written.
    """

    def run() -> str | None:
        source = find_database_file(settings)
        assert source is not None  # `is_store_writable` returned False
        inspect_header(source, UsedDatabases(settings.data))
        return stores.back_up(source, path, replace=replace, replace_larger=replace_larger)

    return await asyncio.to_thread(run)


def find_missing_file(settings: Settings) -> Path | None:
    """Return the path of the SQLite file if the file does not exist yet.

    Return None if the file exists, or if the database is on a server. Raises DatabaseUnusable if the file is
    damaged, or if it existed before and is lost.
    """
    file = find_database_file(settings)
    if file is None or inspect_header(file, UsedDatabases(settings.data)):
        return None
    return file


def is_store_writable(settings: Settings) -> bool:
    """Return False if the SQLite database exists but this process may not write to it.

    For example, the file system is read-only, or the file belongs to another user.
    """
    file = find_database_file(settings)
    return file is None or not file.exists() or is_writable(file)


async def restore_backup(settings: Settings, backup: Path) -> Path:
    """Copy the backup to the SQLite file of the settings, and return the path of this file.

    Raises ValueError, FileExistsError, SecretKeyMissing or GatewayRuns if this is not possible. The message tells the operator
    what to do.
    """
    target = find_database_file(settings)
    if target is None:
        raise ValueError("this command restores only a SQLite database; restore a PostgreSQL database with pg_restore")
    if (key_id := stores.find_key_of_backup(backup)) is not None:
        build_sealer(settings).choose_key(key_id)
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with only_gateway(settings):  # A gateway that runs, or starts now, could write to both databases.
        await asyncio.to_thread(stores.restore, backup, target)
    return target


def _open_clock(settings: Settings) -> tuple[Clock, Callable[[], Awaitable[None]]]:
    """Return the clock of the gateways on this store (Decision 0096), and a function that sets this clock.

    Every gateway on PostgreSQL is a member of a cluster (`check_cluster`), so it uses the clock of the database. A gateway on
    SQLite uses the clock of its machine.
    """
    if not _is_on_server(settings):
        return SystemClock(), _do_nothing
    from domogate.services.cluster import ClusterClock  # Commands on SQLite do not need this import.

    clock = ClusterClock(SystemClock())

    async def set_clock() -> None:
        async with _open_leases(settings) as leases:
            await clock.set_by(leases.read_time)

    return clock, set_clock


async def _do_nothing() -> None: ...


def _is_on_server(settings: Settings) -> bool:
    return settings.database is not None and find_database_file(settings) is None


@asynccontextmanager
async def _open_leases(settings: Settings) -> AsyncIterator[LeaseStore]:
    from domogate.stores.leases import open_leases  # Commands on SQLite do not need this import.

    assert settings.database is not None
    leases = open_leases(settings.database)
    try:
        yield leases
    finally:
        await leases.stop()


async def read_shard_map(settings: Settings) -> ShardMap | None:
    """Return the members of the cluster and the holders of shards. Return None if the database is not PostgreSQL."""
    if not _is_on_server(settings):
        return None
    async with _open_leases(settings) as leases:
        return await leases.read_map()
