"""The membership of this gateway in a cluster: lease, held shards, and how far the other gateways have read the change feed."""

from domogate.services.cluster.clock import ClusterClock
from domogate.services.cluster.holder_watch import HolderWatch
from domogate.services.cluster.holdings import HeldShards
from domogate.services.cluster.membership import LeaseTimes, Membership, ShardDriver, ShardMessenger
from domogate.services.cluster.propagation import Propagation
from domogate.services.cluster.shard_work import ShardWork
from domogate.services.cluster.status import ClusterStatus

__all__ = [
    "ClusterClock",
    "ClusterStatus",
    "HeldShards",
    "HolderWatch",
    "LeaseTimes",
    "Membership",
    "Propagation",
    "ShardDriver",
    "ShardMessenger",
    "ShardWork",
]
