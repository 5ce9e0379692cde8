"""The Store port on SQL: a thin front. Reads go to reader threads, writes to the writer's queue; no SQL on the event loop."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection

from domogate.domain.estate import Estate
from domogate.domain.events import Change
from domogate.domain.ids import Id
from domogate.domain.people import Client, Grant, Subscription, User
from domogate.domain.plants import Plant, PlantStatus
from domogate.domain.safety import SpareParts
from domogate.domain.states import Reading, Report
from domogate.ports import Clock, ImportSummary, Listener, SigningKey, StoredPlant, Usage
from domogate.stores import feed, people, plants, presence, spare_parts, states, subscriptions
from domogate.stores.backup import back_up
from domogate.stores.engine import READERS, Database, newest_cursor, open_database
from domogate.stores.estate_export import export_estate
from domogate.stores.estate_import import import_estate
from domogate.stores.migrate import migrate
from domogate.stores.transaction import Transaction
from domogate.stores.writer import Writer

P = ParamSpec("P")
T = TypeVar("T")


class SqlStore:
    """One Store for SQLite and PostgreSQL. `gateway=False` is for a command line: nobody waits for it to apply changes."""

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
        deadline = asyncio.get_running_loop().time() + timeout
        while not await self._read(presence.all_applied, cursor, self._clock.now(), own_id):
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                return False
            await asyncio.sleep(min(left, 0.02))
        return True

    # plants

    async def find_plant(self, plant_id: Id) -> StoredPlant | None:
        return await self._read(plants.find_plant, plant_id)

    async def list_plants_of(self, user_id: Id) -> tuple[tuple[Plant, ...], int]:
        return await self._read(plants.list_plants_of, user_id)

    async def list_plant_ids(self, driver: str, limit: int) -> tuple[Id, ...]:
        return await self._read(plants.list_plant_ids, driver, limit)

    async def set_plant_status(self, plant_id: Id, status: PlantStatus, at: float) -> None:
        await self._write(plants.set_plant_status, plant_id, status, at)

    async def set_plant_people(self, plant_id: Id, allowed: Sequence[Id], invited: Sequence[str]) -> None:
        await self._write(plants.set_plant_people, plant_id, allowed, invited)

    async def set_module_options(self, module_id: Id, options: dict[str, Any]) -> bool:
        return await self._write(plants.set_module_options, module_id, options)

    # states and history

    async def record(self, reports: Sequence[Report]) -> None:
        if reports:
            await self._running().submit(None, reports)

    async def list_readings(self, module_id: Id, since: float, until: float, limit: int) -> Sequence[tuple[str, Reading]]:
        return await self._read(states.list_readings, module_id, since, until, limit)

    async def prune(self, changes_before: float, readings_before: float) -> None:
        """In pieces, so that other writes get their turn in between."""
        while await self._write(states.prune_changes, changes_before):
            pass
        while await self._write(states.prune_readings, readings_before):
            pass

    # people

    async def find_user(self, user_id: Id) -> User | None:
        return await self._read(people.find_user, user_id)

    async def find_user_by_email(self, email: str) -> User | None:
        return await self._read(people.find_user_by_email, email)

    async def list_users(self) -> Sequence[User]:
        return await self._read(people.list_users)

    async def save_user(self, user: User) -> None:
        await self._write(people.save_user, user)

    async def delete_user(self, user_id: Id) -> bool:
        return await self._write(people.delete_user, user_id)

    async def find_client(self, client_id: str) -> Client | None:
        return await self._read(people.find_client, client_id)

    async def list_clients(self) -> Sequence[Client]:
        return await self._read(people.list_clients)

    async def save_client(self, client: Client) -> None:
        await self._write(people.save_client, client)

    async def add_grant(self, grant: Grant) -> None:
        await self._write(people.add_grant, grant)

    async def find_grant(self, grant_id: Id) -> Grant | None:
        return await self._read(people.find_grant, grant_id)

    async def revoke_grant(self, grant_id: Id, at: float) -> bool:
        return await self._write(people.revoke_grant, grant_id, at)

    # subscription keys, signing keys, spare parts

    async def find_subscription(self, key_hash: str) -> Subscription | None:
        return await self._read(subscriptions.find_subscription, key_hash)

    async def list_subscriptions(self) -> Sequence[Subscription]:
        return await self._read(subscriptions.list_subscriptions)

    async def add_subscription(self, subscription: Subscription) -> None:
        await self._write(subscriptions.add_subscription, subscription)

    async def revoke_subscription(self, subscription_id: Id, at: float) -> bool:
        return await self._write(subscriptions.revoke_subscription, subscription_id, at)

    async def add_usage(self, usages: Sequence[Usage]) -> None:
        if usages:
            await self._write(subscriptions.add_usage, usages)

    async def find_usage(self, subscription_id: Id, day: str) -> int:
        return await self._read(subscriptions.find_usage, subscription_id, day)

    async def list_signing_keys(self) -> Sequence[SigningKey]:
        return await self._read(subscriptions.list_signing_keys)

    async def add_signing_key(self, key: SigningKey) -> None:
        await self._write(subscriptions.add_signing_key, key)

    async def find_spare_parts(self, unit: str) -> SpareParts | None:
        return await self._read(spare_parts.find_spare_parts, unit)

    # the whole

    async def import_estate(self, estate: Estate, *, prune: bool) -> ImportSummary:
        return await self._write(import_estate, estate, prune=prune)

    async def export_estate(self) -> Estate:
        return await self._read(export_estate)

    async def backup(self, path: Path) -> None:
        assert self._database is not None, "the store is not started"
        await asyncio.to_thread(back_up, self._database, path)

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
