"""What the core needs of the outside, and nothing about how it is done. `app/` chooses who fulfils each.

All methods of a port are called on the event loop's thread.
"""

from domogate.ports.backends import Delivered, EchoBackend, Undelivered, WebhookSender
from domogate.ports.clock import Clock
from domogate.ports.devices import AttachedModule, DeviceHost, Driver, Fabric, Picture, ReportSink
from domogate.ports.identity import Admission, Admitted, Audit, Hasher, Signer, Verifier
from domogate.ports.identity_store import IdentityStore
from domogate.ports.notices import FeedStore, LogbookStore, StoredEntry, TicketStore, WebhookStore
from domogate.ports.store import ImportSummary, Listener, SigningKey, Store, StoredPlant, StoredState, Usage

__all__ = [
    "Admission",
    "Admitted",
    "AttachedModule",
    "Audit",
    "Clock",
    "Delivered",
    "DeviceHost",
    "Driver",
    "EchoBackend",
    "Fabric",
    "FeedStore",
    "Hasher",
    "IdentityStore",
    "ImportSummary",
    "Listener",
    "LogbookStore",
    "Picture",
    "ReportSink",
    "Signer",
    "SigningKey",
    "Store",
    "StoredEntry",
    "StoredPlant",
    "StoredState",
    "TicketStore",
    "Undelivered",
    "Usage",
    "Verifier",
    "WebhookSender",
    "WebhookStore",
]
