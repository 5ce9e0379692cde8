"""The change feed."""

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from domogate.domain.events import Change
from domogate.domain.ids import Id

Listener = Callable[[Sequence[Change]], None]


class FeedStore(Protocol):
    """Every committed change, numbered by a cursor."""

    def listen(self, listener: Listener, *, states: bool = True) -> None:
        """Call `listener` with every later change of any process, in cursor order.

        With `states=False`, the listener gets no changes of states. Nearly all changes are changes of states.
        """
        ...

    async def list_changes(self, after: int, limit: int) -> Sequence[Change]: ...
    async def list_changes_of(self, plant_ids: Collection[Id] | None, after: int, limit: int) -> Sequence[Change]:
        """Return the first `limit` changes of these plants after the cursor `after`, in cursor order. None: of all plants."""
        ...

    async def list_newest_of(self, plant_id: Id, limit: int) -> Sequence[Change]:
        """Return the newest `limit` changes of the plant, in cursor order."""
        ...

    async def newest_cursor(self) -> int: ...
    async def feed_span(self) -> tuple[int, int]:
        """Return the cursors of the oldest and the newest stored change, or (0, 0) if there was no change yet."""
        ...

    async def wait_applied(self, timeout: float) -> bool:
        """For the command line: wait until every running gateway on this store has applied the last write of this process.

        Return False after `timeout` seconds.
        """
        ...

    async def prune_changes(self, before: float) -> None: ...
