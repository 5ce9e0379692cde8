"""The store, split by subject. A service names the parts that it uses; `Store` is all of them.

A write that has returned is on disk, and its changes were given to the listeners.
"""

from typing import Protocol

from domogate.ports.stores.audit import AuditStore
from domogate.ports.stores.authorization import AuthorizationStore, GrantStore, SessionStore, TokenStore
from domogate.ports.stores.devices import FaultStore, OrderStore, ReadingStore, StateStore
from domogate.ports.stores.estate import EstateStore, ImportSummary
from domogate.ports.stores.feed import FeedStore, Listener
from domogate.ports.stores.keys import SigningKey, SigningKeyStore, SubscriptionStore, Usage
from domogate.ports.stores.people import ClientStore, PeopleStore
from domogate.ports.stores.plants import MemberStore, PlantStore, StoredPlant, StoredState
from domogate.ports.stores.safety import LogbookStore, SparePartStore, StoredEntry
from domogate.ports.stores.tickets import TicketStore
from domogate.ports.stores.webhooks import WebhookStore

__all__ = [
    "AuditStore",
    "AuthorizationStore",
    "ClientStore",
    "EstateStore",
    "FaultStore",
    "FeedStore",
    "GrantStore",
    "ImportSummary",
    "Listener",
    "LogbookStore",
    "MemberStore",
    "OrderStore",
    "PeopleStore",
    "PlantStore",
    "ReadingStore",
    "SessionStore",
    "SigningKey",
    "SigningKeyStore",
    "SparePartStore",
    "StateStore",
    "Store",
    "StoredEntry",
    "StoredPlant",
    "StoredState",
    "SubscriptionStore",
    "TicketStore",
    "TokenStore",
    "Usage",
    "WebhookStore",
]


class Store(
    PlantStore,
    MemberStore,
    StateStore,
    ReadingStore,
    OrderStore,
    FaultStore,
    PeopleStore,
    ClientStore,
    AuthorizationStore,
    WebhookStore,
    TicketStore,
    LogbookStore,
    SparePartStore,
    AuditStore,
    SubscriptionStore,
    SigningKeyStore,
    FeedStore,
    EstateStore,
    Protocol,
):
    """The whole store, for the composition root and the command line."""

    async def start(self) -> None: ...
    async def stop(self) -> None: ...
