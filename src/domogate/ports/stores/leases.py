"""The port for leases: which gateway of a cluster holds which shards. All times are times of the database's clock."""

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Protocol

import msgspec

from domogate.domain.ids import Id


class LeaseEnded(Exception):
    """The lease of this member has ended, so other members may have taken its shards.

    This member must join again, with a new id.
    """


class OtherCluster(Exception):
    """Running gateways on this database have another cluster name, so this gateway must not join them."""

    def __init__(self, own: str, other: str, members: Sequence[str]) -> None:
        super().__init__(
            f"the gateways {', '.join(members)} run on this database as the cluster {other!r}, but cluster is {own!r} here."
            f" Set cluster to {other!r}, use another database, or stop these gateways first."
        )


class Fenced(Exception):
    """A write with the epoch `epoch` was refused: this gateway does not hold the shard with this epoch any more."""

    def __init__(self, shard: int, epoch: int | None) -> None:
        super().__init__(f"this gateway does not hold shard {shard} with epoch {epoch}")
        self.shard = shard
        self.epoch = epoch


class MessageLink(StrEnum):
    """The state of a member's connection to the servers that carry messages between gateways."""

    CONNECTED = "connected"
    LOST = "lost"
    CUT_OFF = "cut off"
    """The connection has been lost for some seconds, and another member was connected in this time.

    The member hands over its shards to other members. A member that has never been connected also counts as cut off, even
    if no other member is connected.
    """


class ClusterMember(msgspec.Struct, frozen=True):
    """A running gateway of a cluster. A gateway that joins again is a new member."""

    id: Id
    name: str
    url: str
    """The address of the gateway itself, not of a balancer."""
    version: str
    started_at: float
    cluster: str
    """The name of the cluster to which the member belongs."""


class LiveMember(msgspec.Struct, frozen=True):
    """A member whose lease has not ended. `lease_left` is the number of seconds until the lease ends."""

    member: ClusterMember
    lease_left: float
    shards: int = 0
    """The number of shards that the member holds."""
    is_leaving: bool = False
    """True if the member hands over its shards to other members, because it stops."""
    link: MessageLink = MessageLink.CONNECTED


class ClusterView(msgspec.Struct, frozen=True):
    """The cluster at the time when a member renewed its lease. `now` is this time, by the clock of the database.

    `held` has the shards that this member holds according to the store, with their epochs.
    """

    members: tuple[LiveMember, ...]
    held: Mapping[int, int]
    now: float


class ShardMap(msgspec.Struct, frozen=True):
    """All members whose leases have not ended, and the holder of each shard.

    `holders` may still name a member whose lease has ended: this member has lost the shard.
    """

    members: tuple[LiveMember, ...]
    holders: Mapping[int, Id]


class LeaseStore(Protocol):
    """Stores the leases of the members of a cluster. A member that renews its lease keeps all its shards.

    The methods of this port do not wait for other writes.
    """

    async def join(self, member: ClusterMember, seconds: float) -> None:
        """Give the new member a lease of this number of seconds.

        Raises OtherCluster if running gateways on this database have another cluster name.
        """
        ...

    async def renew(
        self, member_id: Id, seconds: float, *, is_leaving: bool = False, link: MessageLink = MessageLink.CONNECTED
    ) -> ClusterView:
        """Extend the lease, so that it ends `seconds` seconds from now. Raises LeaseEnded if it has ended already."""
        ...

    async def acquire(self, member_id: Id, shards: Collection[int]) -> Mapping[int, int]:
        """Take these shards, except those that another member with a valid lease holds.

        Return the taken shards, each with its new epoch.

        A shard that another write locks at this moment is left out. If the lease of this member has ended, no shard is taken.
        """
        ...

    async def release(self, member_id: Id, shards: Collection[int]) -> None:
        """Give back these shards, if this member holds them. Their epochs grow, so a late write of this member is refused."""
        ...

    async def read_map(self) -> ShardMap: ...
    async def read_time(self) -> float: ...
    async def find_beginning(self) -> float:
        """Return the beginning of the cluster: since this time, at least one gateway of the cluster has always been running.

        If no member has a valid lease, the present time is stored and returned. There is one exception: a stored beginning
        that is less than two minutes old is returned unchanged, because the gateway that stored it may still be starting.
        """
        ...

    async def leave(self, member_id: Id) -> None:
        """Give back all shards of the member, and end its lease."""
        ...


class Holdings(Protocol):
    """Says which plants this gateway of a cluster holds now. Any thread may ask."""

    def accepts(self, plant_id: Id) -> bool:
        """Return True if new orders and questions for the plant may begin.

        Return False if this gateway does not hold the shard of the plant, or is handing it over.
        """
        ...

    def epoch_of(self, plant_id: Id) -> int | None:
        """Return the epoch with which this gateway holds the shard of the plant.

        Return None if this gateway does not hold the shard.
        """
        ...

    def on_fenced(self, fenced: Fenced) -> None:
        """Handle a refused write. The store calls this method on the event loop's thread, after it refused the write."""
        ...
