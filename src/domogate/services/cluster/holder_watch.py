"""If the holder of a shard does not answer, finds out whether the shard will soon have another holder.

If so, a request to the shard waits for the new holder.
"""

import asyncio
import time
from collections.abc import Callable
from math import inf

from domogate.common.log import get_logger
from domogate.domain.ids import Id
from domogate.domain.shards import choose_member
from domogate.ports import LeaseStore, MessageLink, ShardMap
from domogate.services.cluster.links import list_sharing
from domogate.services.cluster.membership import LeaseTimes

_log = get_logger(__name__)

_FRESH = 0.1
"""In seconds. All calls of `is_moving` within this time share one query of the database."""
_FORGET = 2.0
"""In seconds. If `is_moving` is not called for a shard for this time, the next call counts as the first call again."""


class _Silence:
    """A holder that does not answer.

    There is at most one such object for each shard. `first` and `last` are the times of the first and the last call of
    `is_moving` for the shard while this holder did not answer.
    """

    __slots__ = ("first", "holder_id", "last")

    def __init__(self, holder_id: Id, now: float) -> None:
        self.holder_id = holder_id
        self.first = self.last = now


class HolderWatch:
    """Says whether a request should wait if the holder of its shard does not answer. Reads the holders from the database."""

    def __init__(self, leases: LeaseStore, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._leases = leases
        self._times = LeaseTimes()
        self._monotonic = monotonic
        self._silent: dict[int, _Silence] = {}
        """The holders that do not answer, by shard."""
        self._looking: asyncio.Task[ShardMap | None] | None = None
        self._looked_at = -inf

    async def is_moving(self, shard: int) -> bool:
        """Return True if a request should wait, because the shard will soon have another holder.

        Return False if the database does not answer, because no shard can move without the database.

        Also return False if the holder will keep the shard. It keeps the shard if `choose_member` chooses this holder and one
        of these conditions is true:

        - Neither the holder nor any other member is connected to NATS. Members that are leaving the cluster do not count.
        - The holder is connected to NATS, and has renewed its lease at least `LeaseTimes.renewal` seconds after the first call
          of this method for this shard. So the holder was still alive after this call.
        """
        shown = await self._look()
        if shown is None:
            return False  # Without the database, no shard moves.
        holder = next((live for live in shown.members if live.member.id == shown.holders.get(shard)), None)
        if holder is None or holder.is_leaving:
            return True
        if choose_member(shard, list_sharing(shown.members)) != holder.member.id:
            return True
        if holder.link is not MessageLink.CONNECTED:
            return any(live.link is MessageLink.CONNECTED and not live.is_leaving for live in shown.members)
        now = self._monotonic()
        silence = self._silent.get(shard)
        if silence is None or silence.holder_id != holder.member.id or now - silence.last > _FORGET:
            silence = self._silent[shard] = _Silence(holder.member.id, now)
        silence.last = now
        renewed_at = self._looked_at - (self._times.lease - holder.lease_left)
        return renewed_at < silence.first + self._times.renewal

    async def _look(self) -> ShardMap | None:
        """Return the holders of all shards. The database was read at most `_FRESH` seconds ago.

        Return None if the database did not answer.
        """
        now = self._monotonic()
        if self._looking is None or (self._looking.done() and now - self._looked_at >= _FRESH):
            self._looking = asyncio.create_task(self._read(), name="look at the holders of shards")
            self._looked_at = now
        return await asyncio.shield(self._looking)

    async def _read(self) -> ShardMap | None:
        try:
            return await self._leases.read_map()
        except Exception as error:
            _log.warning("holders of shards not read", exc_info=error)
            return None
