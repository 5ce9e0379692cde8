"""What a gateway knows about its cluster, for operators."""

import msgspec

from domogate.domain.ids import Id
from domogate.ports import LiveMember


class ClusterStatus(msgspec.Struct, frozen=True):
    """The members at the last renewal of this gateway's lease, and its connection to NATS."""

    name: str
    own_id: Id | None
    """The member that is this gateway. None while it has no lease."""
    members: tuple[LiveMember, ...]
    """`lease_left` is counted down since the renewal."""
    held_shards: int
    fenced_writes: int
    """Writes that were refused since the start, because another member had taken the shard."""
    knowledge_age: float
    """The seconds for which a change of another member may be unknown here."""
    knowledge_bound: float
    nats_server: str
    """The address of the server, without credentials. Empty before the first connection."""
    nats_problem: str
    """Why there is no connection to NATS. Empty if there is one."""
