"""Orders and what becomes of them: on disk before a device is told, and written once more when they end.

The orders of concurrent callers are merged: however many begin, are sent and end in a batch, each of the three is one
statement. What the callers see is as if they had come one after the other.
"""

from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Row, bindparam, delete, insert, select, update

from domogate.domain.commands import Order, OrderEnd, OrderRecord, OrderState
from domogate.domain.ids import Id
from domogate.stores.codec import NUL, decode_command, to_json
from domogate.stores.engine import chunked
from domogate.stores.tables import orders
from domogate.stores.transaction import Transaction

PRUNE_CHUNK = 1_000

ENDS = frozenset({OrderState.CONFIRMED, OrderState.FAILED, OrderState.EXPIRED, OrderState.UNKNOWN})

_OF_ID: ColumnElement[bool] = orders.c.id == bindparam("of_id")
_OPEN = orders.c.ended_at.is_(None)
_FIND = select(orders).where(orders.c.id == bindparam("id"))
_FIND_ALL = select(orders).where(orders.c.id.in_(bindparam("ids", expanding=True)))
_INSERT = insert(orders)
_MARK = (
    update(orders)
    .where(_OF_ID, orders.c.state == OrderState.QUEUED.value)
    .values(state=OrderState.SENT.value, sent_at=bindparam("at"))
)
_END = update(orders).where(_OF_ID, _OPEN).values(state=bindparam("end"), ended_at=bindparam("at"), problem=bindparam("words"))


class AddOrders(msgspec.Struct, frozen=True):
    """To be kept before they are sent; `commands` are theirs as text."""

    records: tuple[OrderRecord, ...]
    commands: tuple[str, ...]


class MarkSent(msgspec.Struct, frozen=True):
    order_id: str
    at: float


OrderChange = AddOrders | MarkSent | OrderEnd


def add_orders(wanted: Sequence[Order], at: float, *, sent: bool) -> AddOrders:
    """Raises ValueError for what would be read back otherwise, before anything is shared with other callers."""
    state = OrderState.SENT if sent else OrderState.QUEUED
    sent_at = at if sent else None
    texts = []
    for order in wanted:
        text = to_json(order.command)
        order.id.encode()
        if not isfinite(order.deadline) or not isfinite(at) or NUL in order.id or _decode(text) != order.command:
            raise ValueError(f"the order {order.id!r} cannot be kept as it is: {order}")
        texts.append(text)
    return AddOrders(tuple(OrderRecord(order, state, at, sent_at) for order in wanted), tuple(texts))


def end_order(end: OrderEnd) -> OrderEnd:
    """Raises ValueError for what is no end. What a device says may be any bytes; what PostgreSQL would refuse is marked."""
    if end.state not in ENDS or not isfinite(end.at):
        raise ValueError(f"an order does not end so: {end}")
    words = end.problem.encode("utf-8", "replace").decode().replace(NUL, "\N{REPLACEMENT CHARACTER}")
    return end if words == end.problem else msgspec.structs.replace(end, problem=words)


def _decode(text: str) -> object:
    try:
        return decode_command(text)
    except msgspec.ValidationError:
        return None


def change_orders(tx: Transaction, changes: Sequence[OrderChange]) -> list[Any]:
    """All of them in order, and what each answers: records that were there, whether it is to be sent, nothing."""
    known = _find_all(tx.connection, _ids_to_know(changes))
    texts: dict[str, str] = {}
    marked: list[dict[str, Any]] = []
    ended: list[dict[str, Any]] = []
    answers: list[Any] = []
    for change in changes:
        if isinstance(change, AddOrders):
            there = []
            for record, text in zip(change.records, change.commands, strict=True):
                order_id = record.order.id
                there.append(known.get(order_id))
                if there[-1] is None:
                    known[order_id] = record
                    texts[order_id] = text
            answers.append(there)
        elif isinstance(change, MarkSent):
            found = known.get(change.order_id)
            to_send = found is not None and found.state is OrderState.QUEUED and change.at < found.order.deadline
            if found is not None and to_send:
                known[change.order_id] = msgspec.structs.replace(found, state=OrderState.SENT, sent_at=change.at)
                marked.append({"of_id": change.order_id, "at": change.at})
            answers.append(to_send)
        else:
            found = known.get(change.order_id)
            if found is not None and found.ended_at is None:
                known[change.order_id] = msgspec.structs.replace(
                    found, state=change.state, ended_at=change.at, problem=change.problem
                )
            # Written even where nothing is known of it: the statement itself passes over those that have ended.
            ended.append({"of_id": change.order_id, "end": change.state.value, "at": change.at, "words": change.problem})
            answers.append(None)
    tx.execute_bulk(_INSERT, [_to_row(known[order_id], text) for order_id, text in texts.items()])
    tx.execute_bulk(_MARK, [row for row in marked if row["of_id"] not in texts])
    tx.execute_bulk(_END, [row for row in ended if row["of_id"] not in texts])
    return answers


def _ids_to_know(changes: Iterable[OrderChange]) -> set[str]:
    ids: set[str] = set()
    for change in changes:
        if isinstance(change, AddOrders):
            ids.update([record.order.id for record in change.records])
        elif isinstance(change, MarkSent) and NUL not in change.order_id:
            ids.add(change.order_id)
    return ids


def _find_all(connection: Connection, ids: set[str]) -> dict[str, OrderRecord]:
    return {row.id: _from_row(row) for some in chunked(ids) for row in connection.execute(_FIND_ALL, {"ids": some})}


def _to_row(record: OrderRecord, command: str) -> dict[str, Any]:
    order = record.order
    return {
        "id": order.id,
        "plant_id": order.plant_id,
        "module_id": order.module_id,
        "command": command,
        "deadline": order.deadline,
        "state": record.state.value,
        "queued_at": record.queued_at,
        "sent_at": record.sent_at,
        "ended_at": record.ended_at,
        "problem": record.problem,
    }


def _from_row(row: Row[Any]) -> OrderRecord:
    order = Order(row.id, row.plant_id, row.module_id, decode_command(row.command), row.deadline)
    return OrderRecord(order, OrderState(row.state), row.queued_at, row.sent_at, row.ended_at, row.problem)


def settle_orders(tx: Transaction, at: float) -> int:
    settled = 0
    for state, end in ((OrderState.QUEUED, OrderState.EXPIRED), (OrderState.SENT, OrderState.UNKNOWN)):
        late = (_OPEN, orders.c.deadline <= at, orders.c.state == state.value)
        settled += tx.connection.execute(update(orders).where(*late).values(state=end.value, ended_at=at)).rowcount
    return settled


def find_order(connection: Connection, order_id: str) -> OrderRecord | None:
    if NUL in order_id:
        return None
    row = connection.execute(_FIND, {"id": order_id}).first()
    return None if row is None else _from_row(row)


def list_orders(
    connection: Connection,
    plant_id: Id | None,
    module_id: Id | None,
    state: OrderState | None,
    before: float | None,
    limit: int,
) -> Sequence[OrderRecord]:
    """Orders queued at the same moment as the last are all listed, beyond the limit: paging by `before` loses none."""
    given = {orders.c.plant_id: plant_id, orders.c.module_id: module_id, orders.c.state: state}
    wanted = [column == value for column, value in given.items() if value is not None]
    matching = select(orders).where(*wanted).order_by(orders.c.queued_at.desc(), orders.c.id.desc())
    page = matching if before is None else matching.where(orders.c.queued_at < before)
    rows = list(connection.execute(page.limit(limit)))
    if rows and len(rows) == limit:
        last = rows[-1]
        rows += connection.execute(matching.where(orders.c.queued_at == last.queued_at, orders.c.id < last.id))
    return [_from_row(row) for row in rows]


def prune_orders(tx: Transaction, before: float) -> bool:
    """Remove those that were queued and have ended before, a piece at a time; True: there are more."""
    oldest = select(orders.c.id).where(orders.c.queued_at < before, orders.c.ended_at.is_not(None))
    piece = oldest.order_by(orders.c.queued_at).limit(PRUNE_CHUNK)
    return tx.connection.execute(delete(orders).where(orders.c.id.in_(piece))).rowcount == PRUNE_CHUNK
