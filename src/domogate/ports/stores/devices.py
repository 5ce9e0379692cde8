"""Ports for the stored data of devices: reports, readings, orders and injected faults."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from domogate.domain.commands import Order, OrderEnd, OrderRecord, OrderState
from domogate.domain.ids import Id
from domogate.domain.injections import InjectedFault, Injection
from domogate.domain.states import Reading, ReadingSummary, Report


class StateStore(Protocol):
    """Stores the last known states of modules, from the reports of drivers."""

    async def record(self, reports: Sequence[Report]) -> None:
        """Write the reports, in the order of the calls. Reports of concurrent callers share a commit.

        If the caller is cancelled before the write begins, the reports are not written. Reports of unknown modules are ignored.
        Raises ValueError for a value that cannot be stored, such as NaN. In a cluster, raises Fenced if this gateway does not
        hold one of the plants any more; the reports of the other plants are written.
        """
        ...


class ReadingStore(Protocol):
    """Stores measured values. Old readings are replaced by summaries."""

    async def list_readings(self, module_id: Id, since: float, until: float, limit: int) -> Sequence[tuple[str, Reading]]:
        """Return the newest `limit` readings of the period, oldest first.

        Readings that a summary has replaced are not included.
        """
        ...

    async def list_summaries(
        self, module_id: Id, since: float, until: float, resolution: float, limit: int
    ) -> Sequence[ReadingSummary]:
        """Return the newest `limit` summaries: one for each measure and interval of `resolution` seconds, oldest first.

        Each interval begins at a multiple of `resolution`, counted from the epoch (1970-01-01, UTC).
        """
        ...

    async def summarise_readings(self, before: float) -> None:
        """Replace the readings that are older than the time `before` by one summary for each series and hour."""
        ...

    async def prune_readings(self, before: float, most: int) -> None:
        """Remove readings and summaries that are older than the time `before`.

        `most` is the number of readings and summaries that may be left in the whole store. If more are left, remove the oldest.
        """
        ...


class OrderFilter(msgspec.Struct, frozen=True):
    """The filter of a list of orders. If `only_open` is true, the list has only orders that have not ended.

    If `module_ids` is given, the list has only orders to these modules.
    """

    plant_id: Id | None = None
    module_id: Id | None = None
    state: OrderState | None = None
    only_open: bool = False
    module_ids: frozenset[Id] | None = None


class OrderStore(Protocol):
    """Stores orders: commands to devices, and how they ended.

    In a cluster, only the gateway that holds the plant may write that an order is sent or has ended. For other gateways, such a
    write raises Fenced.
    """

    async def add_orders(self, orders: Sequence[Order], at: float, *, sent: bool) -> Sequence[OrderRecord | None]:
        """Write all orders in one commit before they are sent: as SENT if `sent` is true, otherwise as QUEUED.

        For each order, return None if its id is new. If the store already has an order with this id, return the record of that
        order; then do not send the new order. Raise ValueError for an order that cannot be stored unchanged.
        """
        ...

    async def mark_sent(self, plant_id: Id, order_id: str, at: float) -> bool:
        """Change the state of the order from QUEUED to SENT.

        At most one caller gets True, and this caller sends the order. All other callers get False. If the deadline of the order
        has passed, every caller gets False.
        """
        ...

    async def end_order(self, plant_id: Id, end: OrderEnd, report: Report | None = None) -> None:
        """Write the end of the order and the report of the device in one commit. Concurrent callers share a commit."""
        ...

    async def end_overdue_orders(self, at: float) -> int:
        """End the orders whose deadline has passed at the time `at`, and return their number.

        SENT becomes UNKNOWN, QUEUED becomes EXPIRED. In a cluster, only orders of plants that this gateway holds are ended.
        """
        ...

    async def find_order(self, order_id: str) -> OrderRecord | None: ...
    async def list_orders(self, wanted: OrderFilter, limit: int, before: float | None = None) -> Sequence[OrderRecord]:
        """Return a page of orders, newest first. If `before` is given, return only orders that were queued before this time.

        The page can have more than `limit` orders: it also has all orders that were queued at the same time as its last order.
        So paging skips no order.
        """
        ...

    async def prune_orders(self, before: float) -> None: ...


class FaultStore(Protocol):
    """Stores the faults that are injected on demand."""

    async def inject(self, plant_id: Id, injections: Sequence[Injection]) -> bool:
        """Add injections of faults. A new injection replaces an injection of the same fault for the same module or plant.

        If a fault replaces the state of a module, the store writes the real state to `Injection.covers`.

        Return False if the plant or a module does not exist.
        """
        ...

    async def clear_injections(
        self,
        plant_id: Id | None,
        module_id: Id | None = None,
        fault: InjectedFault | None = None,
        *,
        ended_by: float | None = None,
    ) -> int:
        """Remove the injections that match all given arguments. Return their number.

        If `ended_by` is given, remove only injections that ended at or before this time.
        """
        ...

    async def list_injections(self) -> Sequence[tuple[Id, Injection]]:
        """Return all injections, each with the id of its plant."""
        ...
