"""What the core needs of the outside, and nothing about how it is done. `app/` chooses who fulfils each.

All methods of a port are called on the event loop's thread.
"""

from domogate.ports.backends import EchoBackend
from domogate.ports.clock import Clock
from domogate.ports.devices import DeviceHost, Driver, Fabric, Placed, ReportSink
from domogate.ports.identity import Admission, Admitted, Audit, Hasher, Signer, Verifier
from domogate.ports.store import ImportSummary, Listener, SigningKey, Store, StoredPlant, StoredState, Usage

__all__ = [
    "Admission",
    "Admitted",
    "Audit",
    "Clock",
    "DeviceHost",
    "Driver",
    "EchoBackend",
    "Fabric",
    "Hasher",
    "ImportSummary",
    "Listener",
    "Placed",
    "ReportSink",
    "Signer",
    "SigningKey",
    "Store",
    "StoredPlant",
    "StoredState",
    "Usage",
    "Verifier",
]
