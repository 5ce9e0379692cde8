"""Stores the clients and subscriptions that people registered for themselves, each with its owner."""

from collections.abc import Iterable, Sequence

from sqlalchemy import Column, Connection, insert, select

from domogate.domain.ids import Id
from domogate.domain.people import Client, Subscription
from domogate.stores.clients import add_client, list_clients, remove_clients
from domogate.stores.engine import Transaction, chunked
from domogate.stores.keys import add_subscription, list_subscriptions, remove_subscriptions
from domogate.stores.tables.identity import owned_clients
from domogate.stores.tables.keys import owned_subscriptions

OWNED_CLIENT: Column[str] = owned_clients.c.client_id
OWNED_SUBSCRIPTION: Column[str] = owned_subscriptions.c.subscription_id


def list_owned(connection: Connection, what: Column[str], owners: Iterable[Id] | None = None) -> set[str]:
    """Return the ids of the clients or subscriptions of the people in `owners`. Without `owners`, return those of all people.

    `what` is `OWNED_CLIENT` or `OWNED_SUBSCRIPTION`.
    """
    found = select(what)
    if owners is not None:
        found = found.where(what.table.c.user_id.in_(list(owners)))
    return set(connection.execute(found).scalars())


def find_client_owner(connection: Connection, client_id: str) -> Id | None:
    return connection.execute(select(owned_clients.c.user_id).where(owned_clients.c.client_id == client_id)).scalar()


def list_own_clients(connection: Connection, user_id: Id) -> Sequence[Client]:
    own = list_owned(connection, OWNED_CLIENT, [user_id])
    return [client for client in list_clients(connection) if client.id in own] if own else []


def list_own_subscriptions(connection: Connection, user_id: Id) -> Sequence[Subscription]:
    own = list_owned(connection, OWNED_SUBSCRIPTION, [user_id])
    return [one for one in list_subscriptions(connection) if one.id in own] if own else []


def add_own_client(tx: Transaction, client: Client, user_id: Id, most: int) -> bool:
    if len(list_owned(tx.connection, OWNED_CLIENT, [user_id])) >= most:
        return False
    if not add_client(tx, client):
        raise ValueError("this client id is already in use")
    tx.connection.execute(insert(owned_clients), {"client_id": client.id, "user_id": user_id})
    return True


def add_own_subscription(tx: Transaction, subscription: Subscription, user_id: Id, most: int) -> bool:
    if len(list_owned(tx.connection, OWNED_SUBSCRIPTION, [user_id])) >= most:
        return False
    add_subscription(tx, subscription)
    tx.connection.execute(insert(owned_subscriptions), {"subscription_id": subscription.id, "user_id": user_id})
    return True


def remove_own_subscription(tx: Transaction, subscription_id: Id, user_id: Id) -> bool:
    if subscription_id not in list_owned(tx.connection, OWNED_SUBSCRIPTION, [user_id]):
        return False
    remove_subscriptions(tx, [subscription_id])
    return True


def remove_owned(tx: Transaction, owners: Sequence[Id]) -> None:
    """Remove the clients and subscriptions of these people, before the people themselves are removed."""
    for some in chunked(owners):
        remove_clients(tx, sorted(list_owned(tx.connection, OWNED_CLIENT, some)))
        remove_subscriptions(tx, [Id(one) for one in sorted(list_owned(tx.connection, OWNED_SUBSCRIPTION, some))])
