"""The base of all subjects of the store.

It opens the database, runs reads on reader threads, and runs writes on the writer thread.

A subject is one kind of stored data, such as plants or orders. The methods of a subject are listed in the class SqlStore, or
are in a class of this subject. `reads`, `writes` or `repeats` makes each method from a function that has the SQL.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial, wraps
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from domogate.common.log import get_logger
from domogate.domain.states import Report
from domogate.ports import Clock, Holdings, Listener, Sealer, StoreNotWritable, StoreTimeout
from domogate.stores.direct import Write, time_is_up
from domogate.stores.engine import READERS, Database, Transaction
from domogate.stores.inspection import CHECK_SECONDS, SHORT_CHECK_SECONDS, DatabaseUnusable, UsedDatabases, inspect_file
from domogate.stores.opening import find_sqlite_file, open_database, prepare_database
from domogate.stores.probe import Probe
from domogate.stores.readers import Lane, Readers
from domogate.stores.shared_work import SharedWork
from domogate.stores.write_lock import WriteLock
from domogate.stores.writer_limits import WriterLimits

if TYPE_CHECKING:
    from domogate.stores.batch import OrderChange
    from domogate.stores.presence import Presence
    from domogate.stores.writer import Writer

LONG = 3600.0
"""The seconds that a read or write of a large part of the database (for example an import) may take."""
_CLOSE_SECONDS = 1.0

_log = get_logger(__name__)

A = TypeVar("A")
P = ParamSpec("P")
T = TypeVar("T")


class SqlSubject:
    """Base class of SqlStore and of all subjects that have a class.

    Reads run on reader threads, writes on the writer thread. No SQL runs on the event loop's thread.
    """

    def __init__(
        self,
        url: str,
        *,
        clock: Clock,
        poll: float = 0.1,
        gateway: bool = True,
        max_batch: int = 256,
        sealer: Sealer | None = None,
        folder: Path | None = None,
        deadline: float = 60.0,
        member: bool = False,
        temporary: bool = False,
        reads_only: bool = False,
    ) -> None:
        """`gateway` is false for a `domogate` command. Other processes do not wait until a command has applied their changes.

        Without a sealer, the secrets of a new database are not encrypted, and an encrypted database cannot be opened. `folder`
        is the data folder, which has the list of used databases. `deadline` is the time limit of reads and writes in seconds. A
        read or write can declare a longer limit. `member` is true for a member of a cluster. Only one member writes the
        reports and orders of a plant, so it can commit these writes while other members commit. A store with `holdings`
        (the shards of this gateway) counts as a member, even if `member` is false. If `temporary` is true, nobody needs the
        data after the end of this process. Then the store does not look for damage, and a commit does not wait for the disk. If
        `reads_only` is true, the store cannot write, so it needs no writer.
        """
        self._url = url
        self._used = UsedDatabases(folder)
        self._sealer = sealer
        self._clock = clock
        self._gateway = gateway
        self._member = member
        self._temporary = temporary
        self._reads_only = reads_only
        self._limits = WriterLimits(poll, max_batch, deadline)
        self._listeners: list[tuple[Listener, bool]] = []
        self._database: Database | None = None
        self._writer: Writer | None = None
        self._readers: Readers | None = None
        self._presence: Presence | None = None
        self._probe: Probe | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.holdings: Holdings | None = None
        """In a cluster, the shards that this gateway holds. None means that this gateway drives all plants."""
        self.on_damage: Callable[[DatabaseUnusable], None] = lambda _: None
        """Called on the event loop's thread if a read or a write finds that the database is damaged."""
        self.on_commit: Callable[[], None] = lambda: None
        """Called on the event loop's thread after this process has committed changes."""
        self.waiting: Callable[[], AbstractContextManager[None]] | None = None
        """Makes a context manager that measures the time for which a caller waits for the database."""
        self.commits = 0
        """The number of transactions that this process has committed."""
        self.write_problem: str | None = None
        """The reason why the last write failed, if the database can be read but not written."""

    def commit(self, connection: Connection, last_writes: Sequence[Write] = (), *, has_written: bool = True) -> None:
        """Execute the last writes of a transaction, and commit it. Every commit of the store calls this method."""
        assert self._database is not None
        self._database.commit(connection, last_writes)
        self.commits += 1
        # A transaction that has written nothing can be committed although the disk refuses writes.
        if has_written and self.write_problem is not None:
            self.write_problem = None
            _log.warning("the database can be written again")

    async def start(self, prepare: Callable[[], Awaitable[None]] | None = None) -> None:
        """Open the database, migrate it to the tables of this version, await `prepare`, and start the writer.

        Raises DatabaseUnusable, DatabaseTooNew, DatabaseInUse, SecretKeyMissing or StoreUnavailable.
        """
        if self._readers is not None:
            raise RuntimeError("the store is already started")
        readers = self._readers = Readers(1 if self._temporary or self._reads_only else READERS)
        self._loop = asyncio.get_running_loop()
        try:
            await readers.run(self._open, inf)
            if prepare is not None:
                await prepare()
            if not self._reads_only:
                await self._start_writer(readers)
        except BaseException:
            await self.stop()
            raise

    async def _start_writer(self, readers: Readers) -> None:
        from domogate.stores.presence import Presence  # A store that only reads does not need these imports.
        from domogate.stores.writer import Writer

        assert self._database is not None
        self._presence = Presence(self._database, self._clock) if self._gateway else None
        writer = Writer(
            self._database,
            self._clock,
            commit=self.commit,
            on_commit=lambda: self.on_commit(),
            explain=self._explain,
            listeners=self._listeners,
            presence=self._presence,
            limits=self._limits,
        )
        try:
            await readers.run(writer.open, LONG)
        except DBAPIError as error:
            raise self._database.explain(error) from error
        self._writer = writer
        writer.start()
        if self._gateway and find_sqlite_file(self._url) is None:
            self._probe = Probe(self._database)
            self._probe.start()

    def _open(self) -> None:
        """Check the database, migrate it, and write it to the list of used databases."""
        file = find_sqlite_file(self._url)
        if file is not None and not self._temporary:
            inspect_file(file, self._used, seconds=CHECK_SECONDS if self._gateway else SHORT_CHECK_SECONDS)
        database = self._database = open_database(self._url)
        database.is_shared = self._member or self.holdings is not None
        database.is_gateway, database.is_temporary = self._gateway, self._temporary
        prepare_database(database, self._used, self._sealer)

    async def stop(self) -> None:
        """Finish the queued writes, then close the database. If the database does not answer, stop after a limited time."""
        writer, self._writer = self._writer, None
        readers, self._readers = self._readers, None
        probe, self._probe = self._probe, None
        if readers is None:
            return
        if probe is not None:
            await asyncio.to_thread(probe.stop)
        if writer is not None and not await writer.stop():
            _log.error("the database did not answer; ending without waiting for it")
        database, self._database = self._database, None
        if database is not None:
            with suppress(StoreTimeout):
                await readers.run(database.close, _CLOSE_SECONDS)
        await readers.close(_CLOSE_SECONDS)

    @property
    def gateway_id(self) -> str:
        """The id of this gateway in the list of running gateways. It is empty if this process is not a running gateway."""
        return "" if self._presence is None else self._presence.id

    @property
    def is_reachable(self) -> bool:
        """Whether the database answered when it was last asked."""
        if self._probe is not None and not self._probe.is_reachable:
            return False
        return self._writer is not None and self._writer.is_reachable

    def _explain(self, error: Exception) -> Exception:
        """Return an error that says what is wrong with the database. If `error` is about something else, return it.

        A StoreNotWritable means that the database cannot be written. A DatabaseUnusable means that it is damaged. If it is
        damaged, also call `on_damage`. This method can be called on any thread.
        """
        explained = error if self._database is None else self._database.explain(error)
        if isinstance(explained, StoreNotWritable):
            if self.write_problem is None:
                _log.error("nothing can be written", reason=str(explained))
            self.write_problem = str(explained)
        if isinstance(explained, DatabaseUnusable) and self._loop is not None:
            with suppress(RuntimeError):  # The loop is closed.
                self._loop.call_soon_threadsafe(self.on_damage, explained)
        return explained

    def _running(self) -> "Writer":
        if self._writer is None:
            raise RuntimeError("the store is not running")
        return self._writer

    def _submit(self, *args: Any) -> asyncio.Future[Any]:
        """Queue a write. The arguments are those of `Writer.submit`."""
        writing = self._running().submit(*args)
        if self.waiting is not None:
            wait = self.waiting()
            wait.__enter__()
            writing.add_done_callback(lambda _: wait.__exit__(None, None, None))
        return writing

    async def _read(self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run the query in one snapshot, on a reader thread. Raises StoreTimeout if there is no result before the deadline."""
        return await self._read_in(Lane.ORDINARY, query, *args, **kwargs)

    async def _read_in(
        self, lane: Lane, query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        database, readers = self._database, self._readers
        if database is None or readers is None:
            raise RuntimeError("the store is not running")
        seconds = LONG if lane is Lane.LONG else self._limits.deadline
        if lane is Lane.IN_TURN and database.reads_in_parallel:
            lane = Lane.ORDINARY

        def run() -> T:
            try:
                return database.read(lambda connection: query(connection, *args, **kwargs))
            except DBAPIError as error:
                if time_is_up():
                    raise StoreTimeout(f"the database did not answer within {seconds:g} s") from error
                raise self._explain(error) from error

        with nullcontext() if self.waiting is None else self.waiting():
            return await readers.run(run, seconds, lane)

    async def _write(self, work: Callable[Concatenate[Transaction, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run the work in a write transaction, on the writer thread. Concurrent callers share a commit.

        Raises StoreTimeout if there is no answer before the deadline.
        """
        result: T = await self._submit(partial(_call, work, args, kwargs))
        return result

    async def _write_together(self, work: Callable[[Transaction, Sequence[A]], Sequence[T]], request: A) -> T:
        """Run the work in a write transaction. One call of `work` handles the requests of concurrent callers."""
        result: T = await self._submit(SharedWork(work, request))
        return result

    def _write_driven(
        self,
        plant_ids: Iterable[str],
        reports: Sequence[Report] = (),
        change: "OrderChange | None" = None,
        work: Callable[[Transaction], Any] | None = None,
    ) -> asyncio.Future[Any]:
        """Queue a write about plants. In a cluster, raises Fenced if this gateway does not hold the shards of all these plants.

        Other gateways can write at the same time, because the lock is shared. So `work` may write only rows that no other
        gateway writes with a shared lock.
        """
        if self.holdings is None:
            return self._submit(work, reports, change, None, (), WriteLock.SHARED)
        from domogate.stores.fencing import fence, tell_when_fenced  # Only a member of a cluster needs this import.

        fences = fence(self.holdings, plant_ids)
        writing = self._submit(work, reports, change, None, fences, WriteLock.SHARED)
        tell_when_fenced(self.holdings, writing)
        return writing

    async def _repeat(self, work: Callable[Concatenate[Transaction, P], bool], *args: P.args, **kwargs: P.kwargs) -> None:
        """Repeat the work while it returns True. Each call of the work is a separate write, so other writes are not delayed."""
        while await self._write(work, *args, **kwargs):
            pass


def _call(work: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any], tx: Transaction) -> T:
    return work(tx, *args, **kwargs)


def reads(
    query: Callable[Concatenate[Connection, P], T], *, lane: Lane = Lane.ORDINARY
) -> Callable[Concatenate[SqlSubject, P], Coroutine[Any, Any, T]]:
    """Make a method of a subject from a query. A query of `Lane.LONG` may take LONG seconds, for large reads.

    On SQLite, all queries of `Lane.IN_TURN` run one after the other. On several threads they would take more CPU time.
    """

    @wraps(query)
    async def method(self: SqlSubject, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._read_in(lane, query, *args, **kwargs)

    return method


def writes(
    work: Callable[Concatenate[Transaction, P], T], *, long: bool = False, lock: WriteLock = WriteLock.EXCLUSIVE
) -> Callable[Concatenate[SqlSubject, P], Coroutine[Any, Any, T]]:
    """Make a method of a subject from a function that writes. If `long` is true, the function may take LONG seconds.

    All functions that write the same rows must have the same lock or the exclusive lock.
    """

    @wraps(work)
    async def method(self: SqlSubject, /, *args: P.args, **kwargs: P.kwargs) -> T:
        bound = partial(_call, work, args, kwargs)
        result: T = await self._submit(bound, (), None, LONG if long else None, (), lock)
        return result

    return method


def repeats(
    work: Callable[Concatenate[Transaction, P], bool],
) -> Callable[Concatenate[SqlSubject, P], Coroutine[Any, Any, None]]:
    """Make a method of a subject from a function. The method calls the function until it returns False.

    Each call of the function does a part of the work, and returns True while there is more work.
    """

    @wraps(work)
    async def method(self: SqlSubject, /, *args: P.args, **kwargs: P.kwargs) -> None:
        await self._repeat(work, *args, **kwargs)

    return method
