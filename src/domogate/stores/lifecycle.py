"""How a store lives and works: opened, migrated, one writer thread, some reader threads, and the feed of changes."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection

from domogate.domain.events import Change
from domogate.ports import Clock, Listener
from domogate.stores import feed, presence
from domogate.stores.engine import READERS, Database, newest_cursor, open_database
from domogate.stores.migrate import migrate
from domogate.stores.transaction import Transaction
from domogate.stores.writer import Writer

P = ParamSpec("P")
T = TypeVar("T")


class StoreLifecycle:
    """Reads go to reader threads, writes to the writer's queue; no SQL on the event loop."""

    def __init__(self, url: str, *, clock: Clock, poll: float = 0.1, gateway: bool = True, max_batch: int = 256) -> None:
        self._url = url
        self._clock = clock
        self._poll = poll
        self._gateway = gateway
        self._max_batch = max_batch
        self._listeners: list[Listener] = []
        self._database: Database | None = None
        self._writer: Writer | None = None
        self._readers: ThreadPoolExecutor | None = None
        self._presence: presence.Presence | None = None
        self.commits = 0
        """How many transactions were committed so far."""

    def commit(self, connection: Connection) -> None:
        """The one place where a transaction is committed, on the writer thread."""
        connection.commit()
        self.commits += 1

    # lifecycle and feed

    async def start(self) -> None:
        """Open the database, bring it to this version's tables, and begin. Raises DatabaseTooNew."""
        if self._writer is not None:
            raise RuntimeError("the store is started already")
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="domogate-store-reader")
        loop = asyncio.get_running_loop()
        try:
            self._database = await loop.run_in_executor(self._readers, open_database, self._url)
            await loop.run_in_executor(self._readers, migrate, self._database)
            self._presence = presence.Presence(self._database, self._clock) if self._gateway else None
            writer = Writer(
                self._database,
                self._clock,
                commit=self.commit,
                listeners=self._listeners,
                presence=self._presence,
                poll=self._poll,
                max_batch=self._max_batch,
            )
            await loop.run_in_executor(self._readers, writer.open)
        except BaseException:
            await self.stop()
            raise
        self._writer = writer
        writer.start()

    async def stop(self) -> None:
        """Finish what is queued, then close."""
        writer, self._writer = self._writer, None
        readers, self._readers = self._readers, None
        database, self._database = self._database, None
        if readers is None:
            return
        loop = asyncio.get_running_loop()
        if writer is not None:
            writer.close()
            await loop.run_in_executor(readers, writer.join)
        if database is not None:
            await loop.run_in_executor(readers, database.close)
        await asyncio.to_thread(readers.shutdown)

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    async def list_changes(self, after: int, limit: int) -> Sequence[Change]:
        return await self._read(feed.list_changes, after, limit)

    async def newest_cursor(self) -> int:
        return await self._read(newest_cursor)

    async def wait_applied(self, timeout: float) -> bool:
        cursor = self._running().written
        own_id = self._presence.id if self._presence is not None else ""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        while True:
            # Asked before the look: of a look that itself took too long nobody knows how it would be now.
            is_last = loop.time() >= deadline
            if await self._read(presence.all_applied, cursor, self._clock.now(), own_id):
                return True
            if is_last:
                return False
            await asyncio.sleep(min(deadline - loop.time(), 0.02))

    # how

    def _running(self) -> Writer:
        if self._writer is None:
            raise RuntimeError("the store is not running")
        return self._writer

    async def _read(self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """In one snapshot, on a reader thread."""
        database, readers = self._database, self._readers
        if database is None or readers is None:
            raise RuntimeError("the store is not running")

        def run() -> T:
            with database.reading.begin() as connection:
                return query(connection, *args, **kwargs)

        return await asyncio.get_running_loop().run_in_executor(readers, run)

    async def _write(self, work: Callable[Concatenate[Transaction, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        result: T = await self._running().submit(partial(_call, work, args, kwargs))
        return result


def _call(work: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any], tx: Transaction) -> T:
    return work(tx, *args, **kwargs)
