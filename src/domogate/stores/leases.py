"""Stores leases in PostgreSQL. All calls share one connection, which no other code uses. Each statement commits by itself.

So a call does not wait for other writes, and a frozen process holds no lock in the database.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

import msgspec
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from domogate.domain.ids import Id
from domogate.domain.shards import SHARDS
from domogate.ports import ClusterMember, ClusterView, LeaseEnded, LiveMember, MessageLink, OtherCluster, ShardMap, StoreTimeout
from domogate.stores.direct import time_is_up
from domogate.stores.opening import open_database
from domogate.stores.postgres import PostgresDatabase
from domogate.stores.readers import Readers

T = TypeVar("T")

_CALL_SECONDS = 2.0
"""A call fails after this number of seconds, so that the member can try again before its lease ends."""
_START_SECONDS = 120.0
"""In seconds: for this time after the beginning of the cluster, the beginning stays valid although no gateway has a lease.

The beginning is the time since which gateways of the cluster have run without a break. The first gateway stores it when it
starts, before it has a lease. Gateways that start a little later must get the same beginning. If a gateway starts after these
seconds, and no gateway has a lease, the present time becomes the new beginning.
"""
_DEAD_KEPT = 3600.0
"""The number of seconds for which the row of a stopped member is kept, so that operators can see it.

Members do not need this row.
"""

_ADD_MISSING = text(
    "INSERT INTO shards (shard, epoch) SELECT shard, 0 FROM generate_series(0, :last) AS shard ON CONFLICT DO NOTHING"
)
_REMOVE_DEAD = text("DELETE FROM leases WHERE lease_until < extract(epoch FROM clock_timestamp()) - :kept")
_JOIN = text(
    """
    INSERT INTO leases (id, name, url, version, started_at, cluster, is_leaving, lease_until)
    VALUES (:id, :name, :url, :version, :started_at, :cluster, false, extract(epoch FROM clock_timestamp()) + :seconds)
    """
)
# This runs after _JOIN. If two gateways with different cluster names join at the same time, at least one finds the other.
_LIST_OTHERS = text(
    """
    SELECT name, cluster FROM leases
    WHERE cluster <> :cluster AND lease_until > extract(epoch FROM clock_timestamp()) ORDER BY cluster, name
    """
)
_RENEW = text(
    """
    UPDATE leases SET lease_until = extract(epoch FROM clock_timestamp()) + :seconds, is_leaving = :is_leaving,
        link = :link
    WHERE id = :id AND lease_until > extract(epoch FROM clock_timestamp())
    RETURNING lease_until
    """
)
_TIME = text("SELECT extract(epoch FROM clock_timestamp())")
# A gateway joins some seconds after it has asked for the beginning. So the beginning stays for `start` seconds, even if no
# gateway has joined: gateways that start together get the same beginning.
_FIND_BEGINNING = text(
    """
    INSERT INTO clock (id, seen_at) VALUES ('beginning of the cluster', extract(epoch FROM clock_timestamp()))
    ON CONFLICT (id) DO UPDATE SET seen_at = CASE
        WHEN clock.seen_at > EXCLUDED.seen_at - :start
            OR EXISTS (SELECT 1 FROM leases WHERE lease_until > EXCLUDED.seen_at) THEN clock.seen_at
        ELSE EXCLUDED.seen_at END
    RETURNING seen_at
    """
)
_LIST_LIVING = text(
    """
    SELECT id, name, url, version, started_at, coalesce(cluster, '') AS cluster, is_leaving,
        coalesce(link, 'connected') AS link,
        lease_until - extract(epoch FROM clock_timestamp()) AS lease_left,
        (SELECT count(*) FROM shards WHERE holder = leases.id) AS held
    FROM leases WHERE lease_until > extract(epoch FROM clock_timestamp()) ORDER BY started_at, id
    """
)
_LIST_HOLDERS = text("SELECT shard, holder FROM shards WHERE holder IS NOT NULL")
_LIST_HELD = text("SELECT shard, epoch FROM shards WHERE holder = :id")
# `free` reads a snapshot. `locked` locks these shards and compares their epochs again: a shard that another member has taken in
# the meantime is left out. A write of the holder also locks its shard. A shard that is already locked is skipped.
_ACQUIRE = text(
    """
    WITH living AS MATERIALIZED (SELECT id FROM leases WHERE lease_until > extract(epoch FROM clock_timestamp())),
    free AS MATERIALIZED (
        SELECT shard, epoch FROM shards
        WHERE shard = ANY(CAST(:shards AS integer[])) AND EXISTS (SELECT 1 FROM living WHERE id = :id)
            AND (holder IS NULL OR holder = :id OR holder NOT IN (SELECT id FROM living))
    ),
    locked AS MATERIALIZED (
        SELECT shards.shard FROM shards JOIN free ON shards.shard = free.shard AND shards.epoch = free.epoch
        ORDER BY shards.shard FOR UPDATE OF shards SKIP LOCKED
    )
    UPDATE shards SET holder = :id, epoch = epoch + 1 FROM locked WHERE shards.shard = locked.shard
    RETURNING shards.shard, shards.epoch
    """
)
_RELEASE = text(
    """
    UPDATE shards SET holder = NULL, epoch = epoch + 1
    WHERE holder = :id AND shard = ANY(CAST(:shards AS integer[]))
    """
)
_LEAVE = text(
    """
    WITH released AS (UPDATE shards SET holder = NULL, epoch = epoch + 1 WHERE holder = :id)
    DELETE FROM leases WHERE id = :id
    """
)


def open_leases(url: str) -> "PostgresLeases":
    """Open the leases in the database at this URL. Raises ValueError if the URL is not a PostgreSQL database."""
    database = open_database(url)
    if not isinstance(database, PostgresDatabase):
        raise ValueError("only a PostgreSQL database has leases")
    return PostgresLeases(database)


class PostgresLeases:
    """Stores the leases of the members of a cluster, in PostgreSQL. Implements LeaseStore."""

    def __init__(self, database: PostgresDatabase) -> None:
        """Only this object may use `database`. The method `stop` closes the database."""
        self._database = database
        self._engine = database.writing.execution_options(isolation_level="AUTOCOMMIT")
        self._connection: Connection | None = None
        self._thread = Readers(1)

    async def stop(self) -> None:
        try:
            await self._thread.run(self._disconnect, _CALL_SECONDS)
        finally:
            await self._thread.close(_CALL_SECONDS)
            self._database.close()

    async def join(self, member: ClusterMember, seconds: float) -> None:
        given = {**msgspec.structs.asdict(member), "seconds": seconds}

        def work(connection: Connection) -> None:
            connection.execute(_ADD_MISSING, {"last": SHARDS - 1})
            connection.execute(_REMOVE_DEAD, {"kept": _DEAD_KEPT})
            connection.execute(_JOIN, given)
            if others := connection.execute(_LIST_OTHERS, {"cluster": member.cluster}).all():
                connection.execute(_LEAVE, {"id": member.id})
                other = others[0].cluster
                raise OtherCluster(member.cluster, other, [row.name for row in others if row.cluster == other])

        await self._run(work)

    async def renew(
        self, member_id: Id, seconds: float, *, is_leaving: bool = False, link: MessageLink = MessageLink.CONNECTED
    ) -> ClusterView:
        given = {"id": member_id, "seconds": seconds, "is_leaving": is_leaving, "link": link.value}

        def work(connection: Connection) -> ClusterView:
            lease_until = connection.execute(_RENEW, given).scalar()
            if lease_until is None:
                raise LeaseEnded
            held = _by_shard(connection.execute(_LIST_HELD, {"id": member_id}))
            return ClusterView(tuple(map(_to_member, connection.execute(_LIST_LIVING))), held, lease_until - seconds)

        return await self._run(work)

    async def acquire(self, member_id: Id, shards: Collection[int]) -> Mapping[int, int]:
        given = {"id": member_id, "shards": sorted(shards)}

        return await self._run(lambda connection: _by_shard(connection.execute(_ACQUIRE, given)))

    async def release(self, member_id: Id, shards: Collection[int]) -> None:
        given = {"id": member_id, "shards": sorted(shards)}
        await self._run(lambda connection: connection.execute(_RELEASE, given))

    async def leave(self, member_id: Id) -> None:
        await self._run(lambda connection: connection.execute(_LEAVE, {"id": member_id}))

    async def read_map(self) -> ShardMap:
        def work(connection: Connection) -> ShardMap:
            holders = {row.shard: Id(row.holder) for row in connection.execute(_LIST_HOLDERS)}
            return ShardMap(tuple(map(_to_member, connection.execute(_LIST_LIVING))), holders)

        return await self._run(work)

    async def read_time(self) -> float:
        return await self._run(lambda connection: float(connection.execute(_TIME).scalar_one()))

    async def find_beginning(self) -> float:
        def work(connection: Connection) -> float:
            return float(connection.execute(_FIND_BEGINNING, {"start": _START_SECONDS}).scalar_one())

        return await self._run(work)

    async def _run(self, work: Callable[[Connection], T]) -> T:
        def run() -> T:
            try:
                if self._connection is None:
                    self._connection = self._engine.connect()
                return work(self._connection)
            except DBAPIError as error:
                self._disconnect()
                if time_is_up():
                    raise StoreTimeout(f"the database did not answer within {_CALL_SECONDS:g} s") from error
                raise

        return await self._thread.run(run, _CALL_SECONDS)

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _by_shard(rows: Iterable[Any]) -> dict[int, int]:
    return {row.shard: row.epoch for row in rows}


def _to_member(row: Any) -> LiveMember:
    member = ClusterMember(row.id, row.name, row.url, row.version, row.started_at, row.cluster)
    return LiveMember(member, float(row.lease_left), row.held, row.is_leaving, MessageLink(row.link))
