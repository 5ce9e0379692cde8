"""The users, clients and grants that are in use, kept in memory (Decision 0006)."""

from collections.abc import Sequence
from typing import Protocol

from domogate.common.feed_cache import FeedCache
from domogate.domain.events import Change, ClientChanged, GrantRevoked, UserChanged
from domogate.domain.ids import Id
from domogate.domain.people import Client, Grant, User
from domogate.ports import ClientStore, FeedStore, GrantStore, PeopleStore

_CLIENTS = 1_000
_USERS = 20_000
_GRANTS = 20_000


class IdentityStore(PeopleStore, ClientStore, GrantStore, FeedStore, Protocol):
    """Users, clients and grants, and the feed of their changes."""


class IdentityCache:
    """Users, clients and grants as the store has them now. `apply` is to be a listener of the store."""

    def __init__(self, store: IdentityStore) -> None:
        self._store = store
        self._clients: FeedCache[str, Client] = FeedCache(self._fetch_client, capacity=_CLIENTS)
        self._users: FeedCache[Id, User] = FeedCache(self._fetch_user, capacity=_USERS)
        self._grants: FeedCache[Id, Grant] = FeedCache(self._fetch_grant, capacity=_GRANTS)

    async def find_client(self, client_id: str) -> Client | None:
        return await self._clients.get(client_id)

    async def find_user(self, user_id: Id) -> User | None:
        return await self._users.get(user_id)

    async def find_grant(self, grant_id: Id) -> Grant | None:
        return await self._grants.get(grant_id)

    def apply(self, changes: Sequence[Change]) -> None:
        for change in changes:
            event = change.event
            if type(event) is UserChanged:
                self._users.drop(event.user_id, change.cursor)
            elif type(event) is ClientChanged:
                self._clients.drop(event.client_id, change.cursor)
            elif type(event) is GrantRevoked:
                self._grants.drop(event.grant_id, change.cursor)

    # The cursor first: what changes while the row is being read must be read again.

    async def _fetch_client(self, client_id: str) -> tuple[Client | None, int]:
        cursor = await self._store.newest_cursor()
        return await self._store.find_client(client_id), cursor

    async def _fetch_user(self, user_id: Id) -> tuple[User | None, int]:
        cursor = await self._store.newest_cursor()
        return await self._store.find_user(user_id), cursor

    async def _fetch_grant(self, grant_id: Id) -> tuple[Grant | None, int]:
        cursor = await self._store.newest_cursor()
        return await self._store.find_grant(grant_id), cursor
