"""Reads the changes of one plant in order, from memory where possible, else from the change feed in the store."""

from collections import deque
from collections.abc import Sequence

from domogate.domain.events import Change
from domogate.domain.ids import Id
from domogate.ports import FeedStore

PAGE = 100
"""Changes that are read and delivered together. No more than these are delivered twice after a crash."""
_MOST_HEARD = 1_000
"""Changes that are kept in memory for a slow receiver. Beyond that the feed is read again."""


class FeedReader:
    """For one webhook."""

    def __init__(self, store: FeedStore, plant_id: Id) -> None:
        self._store = store
        self._plant_id = plant_id
        self._heard: deque[Change] | None = None
        """All changes after the last page that was read from the store; None: some may be missing."""

    def hear(self, change: Change) -> None:
        """A change of the plant was committed. It need not be read from the store."""
        if self._heard is not None:
            self._heard.append(change)
            if len(self._heard) > _MOST_HEARD:
                self._heard = None

    def reset(self) -> None:
        """Read from the store the next time."""
        self._heard = None

    async def has_more(self, position: int) -> bool:
        if self._heard is not None:
            return any(change.cursor > position for change in self._heard)
        return bool(await self._read_store(position, 1))

    async def read_page(self, position: int) -> Sequence[Change]:
        """The next changes after `position`; empty at the end of the feed."""
        if self._heard is None:
            # Listen from now on: after the last page of the store nothing is missing.
            heard = self._heard = deque()
            page = await self._read_store(position, PAGE)
            if len(page) == PAGE:
                self._heard = None
            while heard and page and heard[0].cursor <= page[-1].cursor:
                heard.popleft()
            if page:
                return page
        page = []
        while self._heard and len(page) < PAGE:
            change = self._heard.popleft()
            if change.cursor > position:
                page.append(change)
        return page

    async def _read_store(self, position: int, limit: int) -> Sequence[Change]:
        return await self._store.list_changes_of((self._plant_id,), position, limit)
