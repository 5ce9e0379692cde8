"""The only truth, and what it hands out."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from domogate.domain.audit import AuditEntry, AuditRecord
from domogate.domain.commands import Order, OrderEnd, OrderRecord, OrderState
from domogate.domain.estate import Estate
from domogate.domain.events import Change
from domogate.domain.ids import Id
from domogate.domain.injections import InjectedFault, Injection
from domogate.domain.people import Subscription
from domogate.domain.plants import Plant, PlantStatus, Topology
from domogate.domain.reachability import Absence
from domogate.domain.safety import SpareParts
from domogate.domain.states import Reading, ReadingSummary, Report, State
from domogate.ports.identity_store import IdentityStore
from domogate.ports.notices import FeedStore, LogbookStore, TicketStore, WebhookStore


class StoredState(msgspec.Struct, frozen=True):
    """A module's last known state; `at` is when it was reported, 0.0 when it came from an estate file."""

    state: State | None
    reachable: bool
    at: float
    absence: Absence | None = None


class StoredPlant(msgspec.Struct, frozen=True):
    """Everything of one plant as of one moment: no change up to and including `cursor` is missing from it."""

    plant: Plant
    topology: Topology
    states: dict[Id, StoredState]
    cursor: int
    injections: tuple[Injection, ...] = ()


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


class Store(IdentityStore, FeedStore, WebhookStore, TicketStore, LogbookStore, Protocol):
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

    async def list_readings(self, module_id: Id, since: float, until: float, limit: int) -> Sequence[tuple[str, Reading]]:
        """As they were measured, as far back as that is kept."""
        ...

    async def list_summaries(
        self, module_id: Id, since: float, until: float, resolution: float, limit: int
    ) -> Sequence[ReadingSummary]:
        """One for each measure and span of `resolution` seconds (aligned to the epoch) that has readings, oldest first."""
        ...

    async def summarise_readings(self, before: float) -> None:
        """Replace readings older than that by one summary for each measure and hour."""
        ...

    async def prune(self, changes_before: float, readings_before: float, orders_before: float, most_readings: int) -> None:
        """Forget what is older; and the oldest readings beyond so many, summaries counting like readings."""
        ...

    # orders
    async def add_orders(self, orders: Sequence[Order], at: float, *, sent: bool) -> Sequence[OrderRecord | None]:
        """Keep them before anything is sent, together: QUEUED, or SENT when they are to be sent now.

        For each None when it was new; else the record of the order that has its id already, left as it is: not to be sent.
        """
        ...

    async def mark_sent(self, order_id: str, at: float) -> bool:
        """QUEUED becomes SENT. True for exactly one caller, who sends it; never once its deadline has passed."""
        ...

    async def end_order(self, end: OrderEnd, report: Report | None = None) -> None:
        """How it ended and what the device then reported, in one commit shared with concurrent callers."""
        ...

    async def settle_orders(self, at: float) -> int:
        """End those that nobody will: past their deadline by then, SENT becomes UNKNOWN and QUEUED EXPIRED. How many."""
        ...

    async def find_order(self, order_id: str) -> OrderRecord | None: ...
    async def list_orders(
        self, plant_id: Id | None, module_id: Id | None, state: OrderState | None, before: float | None, limit: int
    ) -> Sequence[OrderRecord]:
        """The newest first, of those queued before `before`."""
        ...

    # faults on demand
    async def inject(self, plant_id: Id, injections: Sequence[Injection]) -> bool:
        """Add or replace; `covers` is filled in from the states. False when there is no such plant or module in it."""
        ...

    async def clear_injections(
        self,
        plant_id: Id | None,
        module_id: Id | None = None,
        fault: InjectedFault | None = None,
        *,
        ended_by: float | None = None,
    ) -> int:
        """Remove those that match all that is given (`ended_by`: over by then); how many."""
        ...

    async def list_injections(self) -> Sequence[tuple[Id, Injection]]:
        """All there are, with the plant of each."""
        ...

    # people in plants
    async def list_plants(self, after: Id | None, limit: int) -> Sequence[Plant]:
        """All plants, removed ones too, by id; for operators."""
        ...

    async def allow_user(self, plant_id: Id, user_id: Id) -> bool:
        """False when they are in the plant already. An invitation of theirs is taken up."""
        ...

    async def withdraw_user(self, plant_id: Id, user_id: Id) -> bool:
        """False when they are not allowed in it. The owner cannot be withdrawn: ValueError."""
        ...

    async def invite(self, plant_id: Id, email: str) -> bool:
        """A membership at once when an active user has that e-mail. False when invited or a member already."""
        ...

    async def withdraw_invitation(self, plant_id: Id, email: str) -> bool: ...

    # audit
    async def append_audit(self, entries: Sequence[AuditEntry]) -> None:
        """Chain them to what is there, in order."""
        ...

    async def list_audit(self, after: int, limit: int) -> Sequence[AuditRecord]:
        """Raises UnreadableRecord."""
        ...

    async def prune_audit(self, before: float) -> None:
        """Remove the oldest records, those from before that time; a record of the removal keeps the rest verifiable."""
        ...

    async def find_pseudonym(self, user_id: Id) -> str:
        """The id by which the audit log knows the user; made at first use, forgotten with the user."""
        ...

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
