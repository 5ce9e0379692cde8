"""Shards: groups of plants. One gateway of a cluster drives all plants of a shard. A hash of a plant's id gives its shard."""

from collections.abc import Collection
from hashlib import blake2b

from domogate.domain.ids import Id

SHARDS = 1024
"""The number of shards. Never change it: all gateways of a cluster and the stored leases must have the same number."""


def shard_of(plant_id: Id) -> int:
    return _hash(plant_id) % SHARDS


def share_of(member_id: str, member_ids: Collection[str]) -> frozenset[int]:
    """Return the shards that the member `member_id` should hold in a cluster with the members `member_ids`."""
    return frozenset(shard for shard in range(SHARDS) if choose_member(shard, member_ids) == member_id)


def choose_member(shard: int, member_ids: Collection[str]) -> str:
    """Return the member that should hold the shard (rendezvous hashing).

    If a member joins, shards move only to this member. If a member leaves, only its shards move.
    """
    return max(member_ids, key=lambda member_id: (_hash(f"{shard} {member_id}"), member_id))


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())
