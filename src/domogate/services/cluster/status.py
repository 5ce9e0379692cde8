"""The facts that a gateway knows about its cluster, for operators."""

import msgspec

from domogate.domain.ids import Id
from domogate.ports import LiveMember


class ClusterStatus(msgspec.Struct, frozen=True):
    """The members at the last renewal of this gateway's lease, and the connection of this gateway to NATS."""

    name: str
    own_id: Id | None
    """The id of this gateway as a member. None while this gateway has no lease."""
    members: tuple[LiveMember, ...]
    """The members of the cluster. `lease_left` is the time that is left of the lease of a member when this object is made."""
    held_shards: int
    fenced_writes: int
    """The number of writes since the start of this gateway that the store refused because another member had the shard."""
    knowledge_age: float
    """This gateway knows all changes of other members that are older than this number of seconds."""
    knowledge_bound: float
    nats_server: str
    """The address of the NATS server, without credentials. Empty before the first connection."""
    nats_problem: str
    """The reason why there is no connection to NATS. Empty while there is a connection."""

    @property
    def own_name(self) -> str | None:
        """The name of this gateway. None while this gateway has no lease."""
        return next((live.member.name for live in self.members if live.member.id == self.own_id), None)
