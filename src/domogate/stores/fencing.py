"""Fencing. In a cluster, only the holder of a shard may make some writes.

These are the writes of reports of drivers, and of the progress of orders and webhooks.

When a write is queued, it gets the present epoch of its shard in this gateway. The transaction compares this epoch with the
stored epoch, and refuses the write if they differ. It also locks the row of the shard, so no other member can take the shard
until the transaction has ended.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from sqlalchemy import Connection, bindparam, select

from domogate.domain.ids import Id
from domogate.domain.shards import shard_of
from domogate.ports import Fenced, Holdings
from domogate.stores.tables.cluster import shards

_LOCK = (
    select(shards.c.shard, shards.c.epoch)
    .where(shards.c.shard.in_(bindparam("held", expanding=True)))
    .order_by(shards.c.shard)
    .with_for_update(read=True)
)


class Fence(NamedTuple):
    """A shard, and the epoch with which this gateway held it."""

    shard: int
    epoch: int


class FencedWrite(Protocol):
    """A write with its fences, which are shards and their epochs.

    The write fails if this gateway does not hold these shards with these epochs any more.
    """

    fences: Sequence[Fence]
    error: Exception | None


def fence(holdings: Holdings, plant_ids: Iterable[str]) -> tuple[Fence, ...]:
    """Return the shards of these plants, each with the epoch with which this gateway holds it.

    Raises Fenced if this gateway does not hold the shard of one of these plants.
    """
    fences = {}
    for plant_id in plant_ids:
        shard, epoch = shard_of(Id(plant_id)), holdings.epoch_of(Id(plant_id))
        if epoch is None:
            raise Fenced(shard, None)
        fences[shard] = Fence(shard, epoch)
    return tuple(fences.values())


def refuse_fenced(connection: Connection, writes: Sequence[FencedWrite]) -> None:
    """If this gateway does not hold a shard of a write any more, make this write fail.

    Lock the shards of all these writes, so that the holders of these shards cannot change before the commit.
    """
    held = {each.shard for write in writes for each in write.fences}
    stored = {row.shard: row.epoch for row in connection.execute(_LOCK, {"held": sorted(held)})}
    for write in writes:
        for shard, epoch in write.fences:
            if stored.get(shard) != epoch:
                write.error = Fenced(shard, epoch)


def tell_when_fenced(holdings: Holdings, writing: asyncio.Future[Any]) -> None:
    """Call `on_fenced` of the holdings if the write `writing` fails because this gateway has lost the shard of the write."""

    def tell(ended: asyncio.Future[Any]) -> None:
        if not ended.cancelled() and isinstance(error := ended.exception(), Fenced):
            holdings.on_fenced(error)

    writing.add_done_callback(tell)
