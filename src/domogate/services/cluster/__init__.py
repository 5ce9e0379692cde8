"""The membership of this gateway in a cluster: its lease, and the shards that it holds."""

from domogate.services.cluster.holder_watch import HolderWatch
from domogate.services.cluster.holdings import HeldShards
from domogate.services.cluster.membership import LeaseTimes, Membership, ShardDriver, ShardMessenger

__all__ = ["HeldShards", "HolderWatch", "LeaseTimes", "Membership", "ShardDriver", "ShardMessenger"]
