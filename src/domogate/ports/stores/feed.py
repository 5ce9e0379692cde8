"""The port for the change feed."""

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from domogate.domain.events import Change
from domogate.domain.ids import Id

Listener = Callable[[Sequence[Change]], None]


class FeedStore(Protocol):
    """Returns every committed change, numbered by a cursor, and tells listeners about new changes.

    Cursors grow, but they are not always consecutive. Several gateways can commit side by side, so a change can become visible
    after a change with a higher cursor. The changes of one plant become visible in the order of their cursors.
    """

    def listen(self, listener: Listener, *, states: bool = True) -> None:
        """Call `listener` with every later change of any process, in cursor order.

        A change waits until no change with a lower cursor can become visible any more. If `states` is False,
        `listener` gets no changes of states, and is called rarely: nearly all changes are changes of states.
        """
        ...

    async def list_changes(self, after: int, limit: int) -> Sequence[Change]: ...
    async def list_changes_of(self, plant_ids: Collection[Id] | None, after: int, limit: int) -> Sequence[Change]:
        """Return the first `limit` changes of these plants after the cursor `after`, in cursor order.

        If `plant_ids` is None, return changes of all plants.
        """
        ...

    async def list_newest_of(self, plant_id: Id, limit: int) -> Sequence[Change]:
        """Return the newest `limit` changes of the plant, in cursor order."""
        ...

    async def newest_cursor(self) -> int:
        """Return the newest cursor up to which the feed is complete: no change with a lower cursor can become visible later."""
        ...

    async def feed_span(self) -> tuple[int, int]:
        """Return the first cursor that was not pruned, and the cursor of the newest change.

        Return (0, 0) if there are no changes.
        """
        ...

    async def wait_applied(self, timeout: float) -> bool:
        """Wait until every running gateway on this store has applied the last write of this process.

        Return False if this takes longer than `timeout` seconds. The command line uses this method.
        """
        ...

    def poll_now(self) -> None:
        """Read the changes of other processes now.

        Call this method when another gateway sends a message that it has committed changes.
        """
        ...

    def knowledge_age(self) -> float:
        """Return an age in seconds: this process knows all changes of other processes that are older than this age.

        It possibly does not know newer changes yet.
        """
        ...

    async def prune_changes(self, before: float) -> None: ...
