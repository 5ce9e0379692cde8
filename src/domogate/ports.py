"""What the core needs of the outside, and nothing about how it is done. `app.py` chooses who fulfils each.

All methods of a port are called on the event loop's thread.
"""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from domogate.domain.commands import Order
from domogate.domain.estate import Estate, FirstState
from domogate.domain.events import Change
from domogate.domain.ids import Id
from domogate.domain.people import Client, Grant, Principal, Subscription, TokenKind, User
from domogate.domain.plants import Module, Plant, PlantStatus, Topology
from domogate.domain.safety import SpareParts
from domogate.domain.states import Reading, Report, State


class Clock(Protocol):
    """So that tests own the time."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...


# --- Store ------------------------------------------------------------------------------------------------------------


class StoredState(msgspec.Struct, frozen=True):
    """A module's last known state; `at` is when it was reported, 0.0 when it came from an estate file."""

    state: State | None
    reachable: bool
    at: float


class StoredPlant(msgspec.Struct, frozen=True):
    """Everything of one plant as of one moment: no change up to and including `cursor` is missing from it."""

    plant: Plant
    topology: Topology
    states: dict[Id, StoredState]
    cursor: int


class SigningKey(msgspec.Struct, frozen=True):
    """A private signing key as a JWK (JSON text), with its place in the rotation."""

    kid: str
    algorithm: str
    jwk: str
    created_at: float
    retired_at: float | None = None


class Usage(msgspec.Struct, frozen=True):
    """How many requests a subscription made on one UTC day ('2026-11-15')."""

    subscription_id: Id
    day: str
    count: int


class ImportSummary(msgspec.Struct, frozen=True):
    """What an import did, by noun ('plants', 'modules', 'users'…)."""

    added: dict[str, int]
    updated: dict[str, int]
    removed: dict[str, int]


Listener = Callable[[Sequence[Change]], None]


class Store(Protocol):
    """The only truth. A write that has returned is on disk, and its changes have been given to the listeners."""

    # lifecycle and feed
    async def start(self) -> None: ...
    async def stop(self) -> None: ...
    def listen(self, listener: Listener) -> None:
        """Call `listener` with every change committed from now on, in cursor order, whichever process wrote it."""
        ...

    async def list_changes(self, after: int, limit: int) -> Sequence[Change]: ...
    async def newest_cursor(self) -> int: ...
    async def wait_applied(self, timeout: float) -> bool:
        """For the CLI: wait until every running gateway on this store has applied this process's last write."""
        ...

    # plants
    async def find_plant(self, plant_id: Id) -> StoredPlant | None: ...
    async def list_plants_of(self, user_id: Id) -> tuple[tuple[Plant, ...], int]:
        """All plants the user owns or is allowed in, removed ones too, ordered by name then id; and the cursor."""
        ...

    async def list_plant_ids(self, driver: str, limit: int) -> tuple[Id, ...]:
        """Active plants that have at least one module of this driver, ordered by id."""
        ...

    async def set_plant_status(self, plant_id: Id, status: PlantStatus, at: float) -> None: ...
    async def set_plant_people(self, plant_id: Id, allowed: Sequence[Id], invited: Sequence[str]) -> None: ...
    async def set_module_options(self, module_id: Id, options: dict[str, Any]) -> bool:
        """False when there is no such module."""
        ...

    # states and history
    async def record(self, reports: Sequence[Report]) -> None:
        """Keep what drivers reported, in the order of the calls. Reports of concurrent callers share a commit.

        A call that was made is taken up even if its caller is cancelled. Unknown modules are passed over.
        """
        ...

    async def list_readings(self, module_id: Id, since: float, until: float, limit: int) -> Sequence[tuple[str, Reading]]: ...
    async def prune(self, changes_before: float, readings_before: float) -> None: ...

    # people
    async def find_user(self, user_id: Id) -> User | None: ...
    async def find_user_by_email(self, email: str) -> User | None: ...
    async def list_users(self) -> Sequence[User]: ...
    async def save_user(self, user: User) -> None:
        """Add or replace. A user who becomes active takes up the invitations to their e-mail."""
        ...

    async def delete_user(self, user_id: Id) -> bool: ...
    async def find_client(self, client_id: str) -> Client | None: ...
    async def list_clients(self) -> Sequence[Client]: ...
    async def save_client(self, client: Client) -> None: ...
    async def add_grant(self, grant: Grant) -> None: ...
    async def find_grant(self, grant_id: Id) -> Grant | None: ...
    async def revoke_grant(self, grant_id: Id, at: float) -> bool: ...

    # subscription keys
    async def find_subscription(self, key_hash: str) -> Subscription | None: ...
    async def list_subscriptions(self) -> Sequence[Subscription]: ...
    async def add_subscription(self, subscription: Subscription) -> None: ...
    async def revoke_subscription(self, subscription_id: Id, at: float) -> bool: ...
    async def add_usage(self, usages: Sequence[Usage]) -> None:
        """Add these counts to what is kept for that day."""
        ...

    async def find_usage(self, subscription_id: Id, day: str) -> int: ...

    # keys, spare parts
    async def list_signing_keys(self) -> Sequence[SigningKey]: ...
    async def add_signing_key(self, key: SigningKey) -> None: ...
    async def find_spare_parts(self, unit: str) -> SpareParts | None:
        """None: no such reference is known. A unit standing in some plant makes its reference known."""
        ...

    # the whole
    async def import_estate(self, estate: Estate, *, prune: bool) -> ImportSummary: ...
    async def export_estate(self) -> Estate: ...
    async def backup(self, path: Path) -> None: ...


# --- Devices ----------------------------------------------------------------------------------------------------------


class Placed(msgspec.Struct, frozen=True):
    """A module as a driver is given it: what it is, and its last known state to go on from.

    `reported_at` is 0.0 where no driver has vouched for that state yet: it came from an estate file, or the options changed.
    """

    module: Module
    last: FirstState
    reported_at: float = 0.0


ReportSink = Callable[[Sequence[Report]], Awaitable[None]]


class Driver(Protocol):
    """Reports states, readings and reachability; carries out orders within their deadline."""

    name: str

    async def start(self, report: ReportSink) -> None: ...
    async def stop(self) -> None: ...
    async def attach(self, plant_id: Id, modules: Sequence[Placed]) -> None:
        """Drive these modules of the plant from now on, and only these; called again when the plant changed."""
        ...

    async def detach(self, plant_id: Id) -> None: ...
    async def execute(self, order: Order) -> Report:
        """Carry the order out and say what the module is in now. Raises DeviceOffline, DeviceTimeout or DeviceRefused."""
        ...

    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report:
        """Ask the module. Raises DeviceTimeout; a module known to be offline is a report with reachable=False."""
        ...


class DeviceHost(Protocol):
    """Whoever drives a plant: the far end of the fabric."""

    async def execute(self, order: Order) -> Report: ...
    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report: ...


class Fabric(Protocol):
    """Carries motion between processes: orders and questions to whoever drives the plant, each under its deadline."""

    def serve(self, host: DeviceHost) -> None: ...
    async def execute(self, order: Order) -> Report:
        """Raises DeviceOffline when nobody drives the plant, DeviceTimeout at the deadline, else what the driver raised."""
        ...

    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report: ...


# --- Who is calling ---------------------------------------------------------------------------------------------------


class Verifier(Protocol):
    """unverified_token -> Claims -> Principal. A token seen before is answered without waiting."""

    def find_verified(self, unverified_token: bytes) -> Principal | None:
        """The Principal of a token verified before and still good now; None: ask `verify`."""
        ...

    async def verify(self, unverified_token: bytes) -> Principal:
        """Raises TokenRefused."""
        ...


class Admitted(msgspec.Struct, frozen=True):
    """A subscription that may call now, and what to tell it of what remains (ready-made response headers)."""

    subscription_id: Id
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Admission(Protocol):
    """Lets subscription keys in, within their rate and quota."""

    def admit_known(self, key: bytes) -> Admitted | None:
        """As `admit` for a key seen before, without waiting; None: ask `admit`."""
        ...

    async def admit(self, key: bytes) -> Admitted:
        """Raises KeyRefused, TooManyRequests."""
        ...


class Signer(Protocol):
    """Signs with the gateway's current key."""

    async def sign(self, claims: dict[str, Any], *, typ: str) -> str: ...
    async def jwks(self) -> dict[str, Any]: ...
    async def mint_token(
        self, kind: TokenKind, user: User, client: Client, grant: Grant, lifetime: float | None = None
    ) -> str: ...


class Hasher(Protocol):
    """Passwords; never on the event loop's thread."""

    async def hash_password(self, password: str) -> str: ...
    async def verify_password(self, password: str, password_hash: str | None) -> bool:
        """Takes as long for None (an unknown user) as for a wrong password."""
        ...


class Audit(Protocol):
    """Who did what, when, from where, with what result."""

    def note(self, action: str, *, who: str, what: str, result: str) -> None: ...


# --- Behind E20 -------------------------------------------------------------------------------------------------------


class EchoBackend(Protocol):
    """The HTTP service behind the echo family."""

    async def send(self, document: bytes) -> tuple[bytes, str]:
        """Its answer's body and media type. Raises EchoUnreachable, EchoTimeout."""
        ...
