"""The port for the stored applications and keys that people registered for themselves."""

from collections.abc import Sequence
from typing import Protocol

from domogate.domain.ids import Id
from domogate.domain.people import Client, Subscription


class DeveloperStore(Protocol):
    """Stores clients and subscriptions that have an owner. They are deleted together with their owner."""

    async def find_client_owner(self, client_id: str) -> Id | None:
        """Return the id of the person who registered the client. Return None if an operator registered the client."""
        ...

    async def list_own_clients(self, user_id: Id) -> Sequence[Client]: ...
    async def list_own_subscriptions(self, user_id: Id) -> Sequence[Subscription]: ...
    async def add_own_client(self, client: Client, user_id: Id, most: int) -> bool:
        """Add the client, with this user as its owner.

        `most` is the number of clients that a person may have. Return False if the person has this number already. Raise
        ValueError if the id of the client exists already.
        """
        ...

    async def add_own_subscription(self, subscription: Subscription, user_id: Id, most: int) -> bool:
        """Add the subscription. `most` is the number of subscriptions that a person may have.

        Return False if the person has this number already.
        """
        ...

    async def remove_own_subscription(self, subscription_id: Id, user_id: Id) -> bool:
        """Delete the subscription and its counts of requests. Return False if the person does not own it."""
        ...
