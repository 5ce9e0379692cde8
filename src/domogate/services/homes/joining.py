"""Finds the time at which a person joined a home. Events before this time are not shown to this person (Decision 0056)."""

from domogate.ports import FeedStore
from domogate.services.rights.access import Access


async def find_joined_at(store: FeedStore, access: Access) -> float:
    """Return the later of two times: the time of joining the home, and the beginning of the guest's period.

    For a guest, some changes of the limits set a new time of joining: other floors, ambients or modules, an earlier beginning
    of the period, or any change after the end of the period (Decision 0056).

    The store has no time of joining. It has the cursor of the newest change before the person joined. So this function uses
    the time of the first stored change after this cursor, which is never before the time of joining. There is always such a
    change: joining is a change itself, and the store never removes the newest change. But a gateway of a cluster may not have
    read this change yet. In this case, the result is infinite.
    """
    if access.joined == 0:
        return access.begun
    first = await store.list_changes(access.joined, 1)
    # In a cluster, this gateway may not have read the change yet.
    return max(access.begun, first[0].at) if first else float("inf")
