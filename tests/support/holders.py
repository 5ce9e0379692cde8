"""Stores of gateways of a cluster, each with the shards that it believes to hold. Their leases are in PostgreSQL."""

from collections.abc import Collection

from domogate.domain.ids import new_id
from domogate.ports import ClusterMember
from domogate.services.cluster import HeldShards
from domogate.stores import SqlStore
from domogate.stores.leases import PostgresLeases
from support.clocks import NOW


class Holder:
    """A gateway that believes to hold its shards, as after a pause of its process. `lost` has the shards that it lost."""

    def __init__(self, store: SqlStore) -> None:
        self.store = store
        self.held = HeldShards(lambda: 0.0)
        self.held.valid_until = 1.0
        self.member = ClusterMember(new_id(), "one", "https://one.example", "1.0", NOW, "north")
        self.lost: list[int] = []
        self.held.when_fenced = self.lost.append
        store.holdings = self.held

    async def acquire(self, leases: PostgresLeases, shards: Collection[int]) -> None:
        await leases.join(self.member, 60)
        self.held.add(await leases.acquire(self.member.id, shards))


async def end_lease(leases: PostgresLeases, member: ClusterMember) -> None:
    """Move the end of the lease to now, as if the member had not renewed it."""
    await leases.renew(member.id, 0.0)


async def take_over(leases: PostgresLeases, old: Holder, new: Holder, shard: int) -> None:
    """The new gateway takes the shard. The old gateway does not know it."""
    await end_lease(leases, old.member)
    await new.acquire(leases, [shard])
    assert shard in new.held.epochs
