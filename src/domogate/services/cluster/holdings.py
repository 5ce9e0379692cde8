"""The shards that this gateway holds, and the time until which it holds them.

The end time is a time of the monotonic clock. Nobody can set this clock.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from math import inf

from domogate.domain.ids import Id
from domogate.domain.shards import shard_of
from domogate.ports import Fenced


class HeldShards:
    """The shards that this gateway holds. Implements Holdings.

    After `valid_until` no shard counts as held, even if the event loop was too busy to remove the shards.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._epochs: dict[int, int] = {}
        self.handing_over: set[int] = set()
        self.valid_until = -inf
        self.fenced = 0
        """The number of writes that the store refused, because this gateway did not hold the shard of the plant."""
        self.empty = asyncio.Event()
        """An event that is set while this gateway holds no shard."""
        self.empty.set()
        self.when_fenced: Callable[[int], None] = lambda _: None
        """Called with a shard that another member has taken."""

    @property
    def is_valid(self) -> bool:
        return self._monotonic() < self.valid_until

    @property
    def epochs(self) -> Mapping[int, int]:
        return self._epochs

    @property
    def accepted(self) -> set[int]:
        """The shards that are held and not being handed over."""
        return self._epochs.keys() - self.handing_over

    def add(self, epochs: Mapping[int, int]) -> None:
        self._epochs.update(epochs)
        self.empty.clear()

    def begin_hand_over(self, shards: Iterable[int]) -> None:
        self.handing_over.update(shards)

    def remove(self, shards: Iterable[int]) -> None:
        for shard in shards:
            self._epochs.pop(shard, None)
            self.handing_over.discard(shard)
        if not self._epochs:
            self.empty.set()

    # Holdings

    def accepts(self, plant_id: Id) -> bool:
        shard = shard_of(plant_id)
        return shard in self._epochs and shard not in self.handing_over and self.is_valid

    def epoch_of(self, plant_id: Id) -> int | None:
        return self._epochs.get(shard_of(plant_id)) if self.is_valid else None

    def on_fenced(self, fenced: Fenced) -> None:
        self.fenced += 1
        # The epoch differs if this gateway has lost the shard and acquired it again since the write.
        if fenced.epoch is not None and self._epochs.get(fenced.shard) == fenced.epoch:
            self.when_fenced(fenced.shard)
