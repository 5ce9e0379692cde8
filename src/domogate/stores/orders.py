"""Stores orders.

An order is stored before a device gets the command. The stored order is updated when it is sent, and when it ends.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import isfinite

import msgspec
from sqlalchemy import Connection, bindparam, delete, or_, select, update

from domogate.domain.commands import Command, Order, OrderEnd, OrderRecord, OrderState
from domogate.domain.ids import Id
from domogate.domain.states import Report
from domogate.ports import Holdings, OrderFilter
from domogate.stores.batch import AddOrders, MarkSent, end_orders
from domogate.stores.codec import NUL, decode_command, order_from_row, storable, to_json
from domogate.stores.engine import Transaction
from domogate.stores.subject import SqlSubject, reads, repeats
from domogate.stores.tables.devices import orders

PRUNE_CHUNK = 1_000

_ENDS = frozenset({OrderState.CONFIRMED, OrderState.FAILED, OrderState.EXPIRED, OrderState.UNKNOWN})
_OVERDUE_ENDS = {OrderState.QUEUED: OrderState.EXPIRED, OrderState.SENT: OrderState.UNKNOWN}
_END_OVERDUE = [
    update(orders)
    .where(orders.c.ended_at.is_(None), orders.c.deadline <= bindparam("at"), orders.c.state == state.value)
    .values(state=end.value, ended_at=bindparam("at"))
    for state, end in _OVERDUE_ENDS.items()
]
_FIND = select(orders).where(orders.c.id == bindparam("id"))


def _check_orders(wanted: Sequence[Order], at: float, *, sent: bool) -> AddOrders:
    """Encode the orders. Raises ValueError for an order that would be different when it is read from the store."""
    state = OrderState.SENT if sent else OrderState.QUEUED
    sent_at = at if sent else None
    records, texts, are_new = [], [], True
    for order in wanted:
        text = _command_to_json(order.command)
        order.id.encode()
        if text is None or not isfinite(order.deadline) or not isfinite(at) or NUL in order.id:
            raise ValueError(f"the order {order.id!r} cannot be stored unchanged: {order}")
        records.append(OrderRecord(order, state, at, sent_at))
        texts.append(text)
        are_new = are_new and order.is_new
    return AddOrders(records, texts, are_new)


@lru_cache(maxsize=256)
def _command_to_json(command: Command) -> str | None:
    """Return the command as JSON. Return None if the command would be different when it is read from the store."""
    text = to_json(command)
    try:
        return text if decode_command(text) == command else None
    except msgspec.ValidationError:
        return None


def _check_end(end: OrderEnd) -> OrderEnd:
    """Return the end of an order. In its problem, characters that cannot be stored are replaced.

    Raises ValueError if its state is not a final state. Also raises ValueError if its time is not finite.
    """
    if end.state not in _ENDS or not isfinite(end.at):
        raise ValueError(f"this is not a final state of an order: {end}")
    if not end.problem:
        return end
    words = storable(end.problem)
    return end if words == end.problem else msgspec.structs.replace(end, problem=words)


def end_overdue_orders(tx: Transaction, at: float, holdings: Holdings | None) -> int:
    """End the orders whose deadline has passed, and return their number.

    In a cluster, a gateway ends only the orders of plants whose shards it holds. Otherwise, a gateway could end an order just
    before the holder of the shard stores the confirmation of the device.
    """
    if holdings is not None:
        return _end_held_overdue_orders(tx, at, holdings)
    return sum(tx.connection.execute(statement, {"at": at}).rowcount for statement in _END_OVERDUE)


def _end_held_overdue_orders(tx: Transaction, at: float, holdings: Holdings) -> int:
    late = select(orders.c.id, orders.c.plant_id, orders.c.state).where(orders.c.ended_at.is_(None), orders.c.deadline <= at)
    ends = [
        (_OVERDUE_ENDS[OrderState(row.state)].value, at, "", row.id)
        for row in tx.connection.execute(late)
        if holdings.epoch_of(row.plant_id) is not None
    ]
    end_orders(tx, ends)
    return len(ends)


def find_order(connection: Connection, order_id: str) -> OrderRecord | None:
    if NUL in order_id:
        return None
    row = connection.execute(_FIND, {"id": order_id}).first()
    return None if row is None else order_from_row(row)


def list_orders(connection: Connection, wanted: OrderFilter, limit: int, before: float | None = None) -> Sequence[OrderRecord]:
    given = {orders.c.plant_id: wanted.plant_id, orders.c.module_id: wanted.module_id, orders.c.state: wanted.state}
    conditions = [column == value for column, value in given.items() if value is not None]
    if wanted.only_open:
        conditions.append(orders.c.ended_at.is_(None))
    if wanted.module_ids is not None:
        conditions.append(orders.c.module_id.in_(sorted(wanted.module_ids)))
    matching = select(orders).where(*conditions).order_by(orders.c.queued_at.desc(), orders.c.id.desc())
    page = matching if before is None else matching.where(orders.c.queued_at < before)
    rows = list(connection.execute(page.limit(limit)))
    if rows and len(rows) == limit:
        last = rows[-1]
        rows += connection.execute(matching.where(orders.c.queued_at == last.queued_at, orders.c.id < last.id))
    return [order_from_row(row) for row in rows]


def prune_orders(tx: Transaction, before: float) -> bool:
    """Remove some of the orders that were queued before the time `before`.

    An order that has not ended is removed only if its deadline is also before this time. Return True if there may be more such
    orders.
    """
    ended = or_(orders.c.ended_at.is_not(None), orders.c.deadline < before)
    oldest = select(orders.c.id).where(orders.c.queued_at < before, ended)
    piece = oldest.order_by(orders.c.queued_at).limit(PRUNE_CHUNK)
    return tx.connection.execute(delete(orders).where(orders.c.id.in_(piece))).rowcount == PRUNE_CHUNK


class SqlOrders(SqlSubject):
    """Stores orders. Implements OrderStore."""

    find_order = reads(find_order)
    list_orders = reads(list_orders)
    prune_orders = repeats(prune_orders)

    async def add_orders(self, orders: Sequence[Order], at: float, *, sent: bool) -> Sequence[OrderRecord | None]:
        if not orders:
            return []
        # Any gateway may queue an order. Only the gateway that drives the plant sends it.
        plant_ids = [order.plant_id for order in orders] if sent and self.holdings is not None else ()
        existing: Sequence[OrderRecord | None] = await self._write_driven(plant_ids, (), _check_orders(orders, at, sent=sent))
        return existing

    async def mark_sent(self, plant_id: Id, order_id: str, at: float) -> bool:
        to_send: bool = await self._write_driven((plant_id,), change=MarkSent(order_id, at))
        return to_send

    async def end_order(self, plant_id: Id, end: OrderEnd, report: Report | None = None) -> None:
        await self._write_driven((plant_id,), () if report is None else (report,), _check_end(end))

    async def end_overdue_orders(self, at: float) -> int:
        return await self._write(end_overdue_orders, at, self.holdings)
