"""The port of the whole store."""

from typing import ClassVar, Protocol

from domogate.ports.stores.address import AddressStore
from domogate.ports.stores.audit import AuditStore
from domogate.ports.stores.authorization import AuthorizationStore
from domogate.ports.stores.clock import ClockStore
from domogate.ports.stores.connections import ConnectionStore
from domogate.ports.stores.developers import DeveloperStore
from domogate.ports.stores.devices import FaultStore, OrderStore, ReadingStore, StateStore
from domogate.ports.stores.estate import EstateStore
from domogate.ports.stores.feed import FeedStore
from domogate.ports.stores.figures import FigureStore
from domogate.ports.stores.invitation_links import InvitationLinkStore
from domogate.ports.stores.keys import SigningKeyStore, SubscriptionStore
from domogate.ports.stores.people import ClientStore, ExternalAccountStore, OperatorStore, PasskeyStore, PeopleStore
from domogate.ports.stores.plants import FavouriteStore, MemberStore, PlantEditStore, PlantStore
from domogate.ports.stores.safety import LogbookStore, SparePartStore
from domogate.ports.stores.sealing import SecretKeyStore
from domogate.ports.stores.search import ModuleSearchStore
from domogate.ports.stores.tickets import TicketStore
from domogate.ports.stores.webhooks import WebhookStore


class StoreUnavailable(Exception):
    """The database cannot be reached, or does not answer. The same request may succeed later."""

    public_message: ClassVar[str] = "the gateway cannot reach its database; send the request again later"
    """The message for clients. The message of the exception itself is only for the log, because it may contain a path."""


class StoreTimeout(StoreUnavailable):
    """The database did not answer in time. A read has no result; a write may still be executed later."""


class StoreNotWritable(StoreUnavailable):
    """The database can be read, but not written: its disk is full, read-only or broken. The write was not executed."""

    public_message = "the gateway cannot write to its disk, and has changed nothing; its operator must act"


class Store(
    PlantStore,
    PlantEditStore,
    ModuleSearchStore,
    MemberStore,
    InvitationLinkStore,
    FavouriteStore,
    StateStore,
    ReadingStore,
    OrderStore,
    FaultStore,
    ConnectionStore,
    PeopleStore,
    OperatorStore,
    ExternalAccountStore,
    PasskeyStore,
    ClientStore,
    DeveloperStore,
    AuthorizationStore,
    WebhookStore,
    TicketStore,
    LogbookStore,
    SparePartStore,
    AuditStore,
    AddressStore,
    SubscriptionStore,
    SigningKeyStore,
    FeedStore,
    ClockStore,
    SecretKeyStore,
    EstateStore,
    FigureStore,
    Protocol,
):
    """The whole store, for the composition root and the command line."""

    async def start(self) -> None: ...
    async def stop(self) -> None: ...
