"""A cache of users, clients and grants in memory (Decision 0006)."""

from collections.abc import Sequence
from typing import Protocol

from domogate.common.feed_cache import FeedCache
from domogate.domain.events import Change, ChangesLost, ClientChanged, GrantRevoked, UserChanged
from domogate.domain.ids import Id
from domogate.domain.people import Client, Grant, User
from domogate.ports import ClientStore, GrantStore, PeopleStore

_CLIENTS = 1_000
_USERS = 20_000
_GRANTS = 20_000


class IdentityStore(PeopleStore, ClientStore, GrantStore, Protocol):
    """The parts of the store with users, clients and grants."""


class IdentityCache:
    """Users, clients and grants as they are in the store now. `apply` must be a listener of the store."""

    def __init__(self, store: IdentityStore) -> None:
        self._users: FeedCache[Id, User] = FeedCache(
            store.find_user,
            capacity=_USERS,
            invalidated_by={
                UserChanged: lambda event: (event.user_id,),
                ChangesLost: lambda _: None,
            },
        )
        self._clients: FeedCache[str, Client] = FeedCache(
            store.find_client,
            capacity=_CLIENTS,
            invalidated_by={
                ClientChanged: lambda event: (event.client_id,),
                ChangesLost: lambda _: None,
            },
        )
        self._grants: FeedCache[Id, Grant] = FeedCache(
            store.find_grant,
            capacity=_GRANTS,
            invalidated_by={
                GrantRevoked: lambda event: (event.grant_id,),
                ChangesLost: lambda _: None,
            },
        )

    async def find_user(self, user_id: Id) -> User | None:
        return await self._users.get(user_id)

    async def find_client(self, client_id: str) -> Client | None:
        return await self._clients.get(client_id)

    async def find_grant(self, grant_id: Id) -> Grant | None:
        return await self._grants.get(grant_id)

    def apply(self, changes: Sequence[Change]) -> None:
        self._users.apply(changes)
        self._clients.apply(changes)
        self._grants.apply(changes)
