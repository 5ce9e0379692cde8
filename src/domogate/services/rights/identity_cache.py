"""A cache of users, clients and grants in memory (Decision 0006)."""

from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Protocol, TypeVar

from domogate.common.feed_cache import FeedCache, InvalidatedBy
from domogate.domain.events import Change, ChangesLost, ClientChanged, GrantRevoked, UserChanged
from domogate.domain.ids import Id
from domogate.domain.people import Client, Grant, User
from domogate.ports import ClientStore, GrantStore, PeopleStore

_CLIENTS = 1_000
_USERS = 20_000
_GRANTS = 20_000

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
E = TypeVar("E")


class IdentityStore(PeopleStore, ClientStore, GrantStore, Protocol):
    """The parts of the store with users, clients and grants."""


def _cache(
    fetch: Callable[[K], Awaitable[V | None]], capacity: int, event: type[E], key_of: Callable[[E], K]
) -> FeedCache[K, V]:
    """Return a feed cache. An event of the type `event` removes the value with the key `key_of(event)`."""
    invalidated_by: InvalidatedBy = {event: lambda happened: (key_of(happened),), ChangesLost: lambda _: None}
    return FeedCache(fetch, capacity=capacity, invalidated_by=invalidated_by)


class IdentityCache:
    """Users, clients and grants as they are in the store now. `apply` must be a listener of the store."""

    def __init__(self, store: IdentityStore) -> None:
        self._users = _cache(store.find_user, _USERS, UserChanged, lambda event: event.user_id)
        self._clients = _cache(store.find_client, _CLIENTS, ClientChanged, lambda event: event.client_id)
        self._grants = _cache(store.find_grant, _GRANTS, GrantRevoked, lambda event: event.grant_id)

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
