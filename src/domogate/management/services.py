"""The services that the operations of the management API use."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO, Protocol

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.domain.discovery import Discovery
from domogate.domain.estate import Mistake
from domogate.domain.ids import Id
from domogate.http_api.credentials import Operator
from domogate.http_api.operations import Call
from domogate.management.status import Status
from domogate.ports import (
    AuditStore,
    ClientStore,
    Clock,
    ClockStore,
    DriverConnection,
    EstateStore,
    ExternalAccountStore,
    GrantStore,
    ImportDifference,
    ImportSummary,
    KeyPlace,
    LogbookStore,
    ModuleSearchStore,
    NewSubscriptionKey,
    OrderStore,
    PasskeyStore,
    PeopleStore,
    PlantStore,
    SecretKeyStore,
    SessionStore,
    SparePartStore,
    SubscriptionStore,
    WebhookStore,
)
from domogate.services.audit import AuditLog
from domogate.services.driving.supervisor import DriverHealth
from domogate.services.events.hub import Hub
from domogate.services.people import People
from domogate.services.plants.control import Control
from domogate.services.plants.editing import PlantEditor
from domogate.services.plants.fault_injection import FaultInjector
from domogate.services.plants.history import History
from domogate.services.plants.read_model import ReadModel
from domogate.services.plants.scenes import Scenes
from domogate.services.refusals import Conflict, Reason
from domogate.services.webhooks.registration import Webhooks
from domogate.wire import OutputModel

OperatorCall = Call[Operator]


class SigningKeys(Protocol):
    async def list_places(self) -> Sequence[KeyPlace]: ...
    async def rotate(self, *, now: bool) -> str:
        """Add a new signing key and return its id.

        If `now` is true, the new key signs at once and no other key is trusted any more.
        """
        ...


class EstateFiles(Protocol):
    """Exports, checks and imports the estate as a document. The composition root implements it."""

    def schema(self) -> str: ...
    async def export(self) -> Iterable[bytes]:
        """Return the estate file in pieces. It contains neither hashes of passwords nor secrets of second factors."""
        ...

    async def check(self, document: str) -> Sequence[Mistake]: ...
    async def find_difference(self, document: str, *, prune: bool, most: int, by: Id) -> ImportDifference:
        """Return what an import would change.

        Raises Refused if the import would be refused. Also raises Refused if the store has too many modules for a comparison
        with `prune`.

        `most` is the largest number of changes of each kind of record in the result.
        """
        ...

    async def import_document(self, document: str, *, prune: bool, by: Id) -> ImportSummary:
        """Import the document.

        Raises Refused, and imports nothing, if the document has mistakes or contradicts the store. Also raises Refused if
        `prune` would remove the user `by`.
        """
        ...


class DriverConnectionOut(OutputModel, frozen=True):
    """A connection of a driver that was set through this API. Its password is never shown."""

    url: str
    username: str | None
    has_password: bool


class DriverFactsOut(OutputModel, frozen=True):
    """A driver that modules can name.

    `connections` are the names of the brokers or OpenWebNet gateways in use. A module names one of them in one of its options;
    the value of `connectionOption` is the name of this option. `connection` is the connection that was set through this API.
    `canSetConnection` is false if the settings list the connections, or if this API cannot set connections of this driver.
    """

    name: str
    simulated: bool
    kinds: tuple[DeviceKind, ...]
    connection_option: str | None
    connections: tuple[str, ...]
    can_discover: bool
    can_set_connection: bool
    connection: DriverConnectionOut | None


class DriverCatalogue(Protocol):
    """Describes the drivers that modules can name, and changes their connections."""

    def find(self, driver: str) -> DriverFactsOut | None:
        """Return the facts about the driver, or None if there is no such driver."""
        ...

    def options_schema(self, driver: str, kind: DeviceKind) -> dict[str, Any] | None:
        """Return the JSON Schema of the options that a module of this kind has with this driver.

        Return None if the driver does not exist or does not drive modules of this kind.
        """
        ...

    async def set_connection(self, connection: DriverConnection) -> None:
        """Test the connection, store it and use it at once.

        Raises DiscoveryFailed if the test fails. Raises Refused in four cases: the connection is not valid, connections of this
        driver cannot be stored, the gateway's settings already have connections of this driver, or a search for devices is
        running.
        """
        ...

    async def delete_connection(self, driver: str) -> None:
        """Delete the stored connection of the driver.

        Raises Refused if no connection of this driver is stored, or if such connections cannot be stored. Also raises Refused
        if the gateway's settings have connections of this driver.
        """
        ...

    async def discover(self, driver: str, connection: str | None, seconds: float, base: str | None) -> Discovery:
        """Search for devices. Raises DiscoveryFailed if the search fails.

        `base` is a base topic of Zigbee2MQTT that contains a slash. Base topics without a slash are found even if `base` is
        None.

        Raises Refused if the driver cannot search, or if another search is running: only one search runs at a time.
        """
        ...


class Devices(msgspec.Struct, frozen=True):
    """Services for plants and their devices."""

    read_model: ReadModel
    control: Control
    scenes: Scenes
    fault_injector: FaultInjector
    history: History
    list_drivers: Callable[[], Sequence[DriverHealth]]


class ManagementStore(
    PeopleStore,
    ExternalAccountStore,
    PasskeyStore,
    AuditStore,
    ClientStore,
    GrantStore,
    SessionStore,
    PlantStore,
    OrderStore,
    SubscriptionStore,
    WebhookStore,
    LogbookStore,
    SparePartStore,
    EstateStore,
    ModuleSearchStore,
    ClockStore,
    SecretKeyStore,
    Protocol,
):
    """The parts of the store that operators see and change."""


class Backup(msgspec.Struct, frozen=True):
    """A backup in an open file, its size in bytes, and the id of the key that a restore needs.

    This key is the secret key. If a restore needs no key, the id is None.
    """

    file: BinaryIO
    size: int
    key_id: str | None


class LongTasks:
    """Tasks that read the whole database. Only one task of each kind runs at a time."""

    def __init__(self) -> None:
        self._running: set[str] = set()

    @contextmanager
    def run(self, kind: str) -> Iterator[None]:
        """Count a task of this kind as running until the `with` block ends.

        Raises Conflict if another task of this kind is running.
        """
        if kind in self._running:
            raise Conflict(f"Another {kind} is running. Try again when it has ended.", Reason.ALREADY_RUNNING)
        self._running.add(kind)
        try:
            yield
        finally:
            self._running.discard(kind)


class ManagementServices(msgspec.Struct, frozen=True):
    people: People
    store: ManagementStore
    clock: Clock
    audit: AuditLog
    new_subscription: NewSubscriptionKey
    signing_keys: SigningKeys
    devices: Devices
    status: Status
    estate: EstateFiles
    hub: Hub
    webhooks: Webhooks
    editor: PlantEditor
    drivers: DriverCatalogue
    make_backup: Callable[[], Awaitable[Backup]]
    """Makes a backup of the database. Raises ValueError if the database is not SQLite, or if the backup fails."""
    long_tasks: LongTasks = msgspec.field(default_factory=LongTasks)
