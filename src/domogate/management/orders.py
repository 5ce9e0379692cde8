"""Orders: what became of commands, whoever gave them."""

from datetime import datetime
from typing import Annotated

import msgspec

from domogate.domain.commands import OrderRecord, OrderState
from domogate.http_api.problems import Problem
from domogate.management.commands import WrittenCommand, show_command
from domogate.management.operation import Call, Desk, Listing, Operation, Page, queried_id
from domogate.services.refusals import NotFound
from domogate.wire import Shown, moment, moment_or_none


class ShownOrder(Shown, frozen=True):
    """A command on its way to a module, and what became of it. `problem` is the device's or driver's words, if it failed."""

    id: str
    plant_id: str
    module_id: str
    command: WrittenCommand
    state: OrderState
    problem: str
    deadline: datetime
    queued_at: datetime
    sent_at: datetime | None
    ended_at: datetime | None


def show_order(record: OrderRecord) -> ShownOrder:
    order = record.order
    return ShownOrder(
        id=order.id,
        plant_id=order.plant_id,
        module_id=order.module_id,
        command=show_command(order.command),
        state=record.state,
        problem=record.problem,
        deadline=moment(order.deadline),
        queued_at=moment(record.queued_at),
        sent_at=moment_or_none(record.sent_at),
        ended_at=moment_or_none(record.ended_at),
    )


class OrderPage(Page, frozen=True, forbid_unknown_fields=True, rename="camel"):
    plant_id: Annotated[str, msgspec.Meta(description="Only orders for this plant.")] | None = None
    module_id: Annotated[str, msgspec.Meta(description="Only orders for this module.")] | None = None
    state: Annotated[OrderState, msgspec.Meta(description="Only orders in this state.")] | None = None


async def list_orders(desk: Desk, call: Call) -> Listing[ShownOrder]:
    query: OrderPage = call.query
    plant_id, module_id = queried_id("plantId", query.plant_id), queried_id("moduleId", query.module_id)
    found = await desk.store.list_orders(plant_id, module_id, query.state, _before(query.after), query.limit + 1)
    records, following = _cut(list(found), query.limit)
    return Listing([show_order(record) for record in records], following)


def _before(after: str | None) -> float | None:
    if after is None:
        return None
    try:
        # float() reads words such as `nan` too, and no cursor has letters.
        return float(after if after.replace(".", "", 1).isdecimal() else "")
    except ValueError:
        raise Problem(400, "The query is not as expected: `after` must be `next` of the page before.") from None


def _cut(records: list[OrderRecord], limit: int) -> tuple[list[OrderRecord], str | None]:
    """Orders of the same moment (the steps of a scene) stay on one page, which may be longer for it: the cursor is a moment."""
    end = limit
    while 0 < end < len(records) and records[end].queued_at == records[end - 1].queued_at:
        end += 1
    return records[:end], repr(records[end - 1].queued_at) if len(records) > limit else None


async def get_order(desk: Desk, call: Call) -> ShownOrder:
    order_id = call.path["orderId"]
    record = await desk.store.find_order(order_id)
    if record is None:
        raise NotFound("There is no such order, or it is older than orders are kept.")
    return show_order(record)


OPERATIONS = (
    Operation(
        id="listOrders", tag="orders", summary="What became of commands, the newest first",
        method="GET", path="/orders", handler=list_orders, query=OrderPage, answer=Listing[ShownOrder],
    ),
    Operation(
        id="getOrder", tag="orders", summary="One order; its id is the Idempotency-Key, where one was given",
        method="GET", path="/orders/{orderId}", handler=get_order, answer=ShownOrder, errors=frozenset({404}),
    ),
)  # fmt: skip
