"""Reads the changes of one plant in order, from memory if possible, otherwise from the change feed in the store."""

from collections import deque
from collections.abc import Sequence

from domogate.domain.events import Change
from domogate.domain.ids import Id
from domogate.ports import FeedStore

PAGE = 100
"""The number of changes that are read and delivered together.

After a crash, at most this number of changes is delivered twice.
"""
_MOST_IN_MEMORY = 1_000
"""At most this number of changes is kept in memory for a slow receiver. If more changes wait, they are read from the store."""


class FeedReader:
    """Reads the changes of one plant for one webhook."""

    def __init__(self, store: FeedStore, plant_id: Id) -> None:
        self._store = store
        self._plant_id = plant_id
        self._changes: deque[Change] | None = None
        """All changes after the last page that `read_page` returned. None if some of them may not be in memory."""

    def add_change(self, change: Change) -> None:
        """Keep a committed change of the plant in memory, so that it need not be read from the store."""
        if self._changes is not None:
            self._changes.append(change)
            if len(self._changes) > _MOST_IN_MEMORY:
                self._changes = None

    def reset(self) -> None:
        """Forget the changes in memory. The next page is read from the store."""
        self._changes = None

    async def read_page(self, position: int) -> Sequence[Change]:
        """Return the next changes after `position`. The page is empty at the end of the feed."""
        if self._changes is None:
            # New changes are kept in memory before the page is read. So no change after this page is missing.
            kept = self._changes = deque()
            page = await self._read_store(position, PAGE)
            if len(page) == PAGE:
                self._changes = None
            while kept and page and kept[0].cursor <= page[-1].cursor:
                kept.popleft()
            if page:
                return page
        page = []
        while self._changes and len(page) < PAGE:
            change = self._changes.popleft()
            if change.cursor > position:
                page.append(change)
        return page

    async def _read_store(self, position: int, limit: int) -> Sequence[Change]:
        return await self._store.list_changes_of((self._plant_id,), position, limit)
