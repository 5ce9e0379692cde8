"""Clients and people as they are now, remembered between refreshes: an application comes back every hour for years."""

from collections.abc import Sequence
from typing import Protocol

from domogate.common.feed_cache import FeedCache
from domogate.domain.events import Change, ClientChanged, UserChanged
from domogate.domain.ids import Id
from domogate.domain.people import Client, User
from domogate.ports import ClientStore, FeedStore, PeopleStore

_CLIENTS = 1_000
_PEOPLE = 10_000


class IdentityStore(PeopleStore, ClientStore, FeedStore, Protocol):
    """Users and clients, and the feed of their changes."""


class IdentityCache:
    """A bounded memory of the store's clients and users, kept true by the change feed (Decision 0006)."""

    def __init__(self, store: IdentityStore) -> None:
        self._store = store
        self._clients: FeedCache[str, Client] = FeedCache(self._fetch_client, capacity=_CLIENTS)
        self._people: FeedCache[Id, User] = FeedCache(self._fetch_user, capacity=_PEOPLE)
        store.listen(self._apply)

    async def find_client(self, client_id: str) -> Client | None:
        return await self._clients.get(client_id)

    async def find_user(self, user_id: Id) -> User | None:
        return await self._people.get(user_id)

    def _apply(self, changes: Sequence[Change]) -> None:
        for change in changes:
            event = change.event
            if type(event) is UserChanged:
                self._people.drop(event.user_id, change.cursor)
            elif type(event) is ClientChanged:
                self._clients.drop(event.client_id, change.cursor)

    # The cursor first: what changes while the row is being read must be read again.

    async def _fetch_client(self, client_id: str) -> tuple[Client | None, int]:
        cursor = await self._store.newest_cursor()
        return await self._store.find_client(client_id), cursor

    async def _fetch_user(self, user_id: Id) -> tuple[User | None, int]:
        cursor = await self._store.newest_cursor()
        return await self._store.find_user(user_id), cursor
