"""The interfaces that the services need and other folders implement. `app/` chooses an implementation of each interface.

Methods of a port are called on the event loop's thread, unless the text about the port or method says something else.
"""

from domogate.ports.backends import Delivered, EchoBackend, Undelivered, WebhookSender
from domogate.ports.bridges import BridgeBroker, BridgeClient, BridgeConnection
from domogate.ports.clock import Clock, SharedClock
from domogate.ports.devices import (
    AttachedModule,
    ConnectionHealth,
    ConnectionState,
    DeviceHost,
    Driver,
    Fabric,
    HasConnections,
    NotHeld,
    Picture,
    ReportSink,
)
from domogate.ports.identity import (
    Admission,
    Admitted,
    Audit,
    Hasher,
    KeyPlace,
    KeyState,
    NewSubscriptionKey,
    Signer,
    Verifier,
)
from domogate.ports.mail import Mail, MailKind, OutgoingMail
from domogate.ports.passkeys import NewCredential, PasskeyRefused, PasskeyVerifier, UnverifiedAnswer
from domogate.ports.sealing import SealBroken, Sealer, SecretKeyMissing
from domogate.ports.stores.audit import AuditStore
from domogate.ports.stores.authorization import AuthorizationStore, GrantStore, SessionStore, TokenStore
from domogate.ports.stores.backups import BackupFile, BackupFolder
from domogate.ports.stores.clock import ClockStore
from domogate.ports.stores.connections import ConnectionStore, DriverConnection
from domogate.ports.stores.developers import DeveloperStore
from domogate.ports.stores.devices import FaultStore, OrderFilter, OrderStore, ReadingStore, StateStore
from domogate.ports.stores.estate import (
    EstateStore,
    ImportDifference,
    ImportRecord,
    ImportSummary,
    RecordChange,
    UnnamedDrivers,
)
from domogate.ports.stores.feed import FeedStore, Listener
from domogate.ports.stores.figures import FigureStore
from domogate.ports.stores.invitation_links import InvitationLinkStore
from domogate.ports.stores.keys import SigningKey, SigningKeyStore, SubscriptionStore, Usage
from domogate.ports.stores.leases import (
    ClusterMember,
    ClusterView,
    Fenced,
    Holdings,
    LeaseEnded,
    LeaseStore,
    LiveMember,
    MessageLink,
    OtherCluster,
    ShardMap,
)
from domogate.ports.stores.people import (
    ClientStore,
    ExternalAccountStore,
    LastOperator,
    OperatorStore,
    PasskeyStore,
    PeopleStore,
)
from domogate.ports.stores.plants import (
    NO_STATE_YET,
    FavouriteStore,
    MemberStore,
    PlantEditStore,
    PlantStore,
    StoredPlant,
    StoredState,
)
from domogate.ports.stores.safety import LogbookFilter, LogbookStore, SparePartStore, StoredEntry
from domogate.ports.stores.sealing import SecretKeyRotation, SecretKeyStore
from domogate.ports.stores.search import ModuleFilter, ModulePlace, ModuleSearchStore, Named, PlacedModule
from domogate.ports.stores.store import Store, StoreNotWritable, StoreTimeout, StoreUnavailable
from domogate.ports.stores.tickets import TicketStore
from domogate.ports.stores.webhooks import WebhookStore
from domogate.ports.tracing import MessageTrace

__all__ = [
    "NO_STATE_YET",
    "Admission",
    "Admitted",
    "AttachedModule",
    "Audit",
    "AuditStore",
    "AuthorizationStore",
    "BackupFile",
    "BackupFolder",
    "BridgeBroker",
    "BridgeClient",
    "BridgeConnection",
    "ClientStore",
    "Clock",
    "ClockStore",
    "ClusterMember",
    "ClusterView",
    "ConnectionHealth",
    "ConnectionState",
    "ConnectionStore",
    "Delivered",
    "DeveloperStore",
    "DeviceHost",
    "Driver",
    "DriverConnection",
    "EchoBackend",
    "EstateStore",
    "ExternalAccountStore",
    "Fabric",
    "FaultStore",
    "FavouriteStore",
    "FeedStore",
    "Fenced",
    "FigureStore",
    "GrantStore",
    "HasConnections",
    "Hasher",
    "Holdings",
    "ImportDifference",
    "ImportRecord",
    "ImportSummary",
    "InvitationLinkStore",
    "KeyPlace",
    "KeyState",
    "LastOperator",
    "LeaseEnded",
    "LeaseStore",
    "Listener",
    "LiveMember",
    "LogbookFilter",
    "LogbookStore",
    "Mail",
    "MailKind",
    "MemberStore",
    "MessageLink",
    "MessageTrace",
    "ModuleFilter",
    "ModulePlace",
    "ModuleSearchStore",
    "Named",
    "NewCredential",
    "NewSubscriptionKey",
    "NotHeld",
    "OperatorStore",
    "OrderFilter",
    "OrderStore",
    "OtherCluster",
    "OutgoingMail",
    "PasskeyRefused",
    "PasskeyStore",
    "PasskeyVerifier",
    "PeopleStore",
    "Picture",
    "PlacedModule",
    "PlantEditStore",
    "PlantStore",
    "ReadingStore",
    "RecordChange",
    "ReportSink",
    "SealBroken",
    "Sealer",
    "SecretKeyMissing",
    "SecretKeyRotation",
    "SecretKeyStore",
    "SessionStore",
    "ShardMap",
    "SharedClock",
    "Signer",
    "SigningKey",
    "SigningKeyStore",
    "SparePartStore",
    "StateStore",
    "Store",
    "StoreNotWritable",
    "StoreTimeout",
    "StoreUnavailable",
    "StoredEntry",
    "StoredPlant",
    "StoredState",
    "SubscriptionStore",
    "TicketStore",
    "TokenStore",
    "Undelivered",
    "UnnamedDrivers",
    "UnverifiedAnswer",
    "Usage",
    "Verifier",
    "WebhookSender",
    "WebhookStore",
]
