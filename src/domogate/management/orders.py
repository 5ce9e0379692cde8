"""Operations that show orders (commands that were sent to modules, or that failed before they were sent) and their results."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from domogate.domain.commands import OrderRecord, OrderState
from domogate.http_api.operations import OperationTable
from domogate.http_api.paging import Listing, end_of_page, wrong_cursor
from domogate.http_api.requests import read_optional_id
from domogate.management.names import NO_NAMES, NamedPage, find_names, name_of
from domogate.management.services import ManagementServices, OperatorCall
from domogate.ports import Named, OrderFilter
from domogate.services.refusals import NotFound
from domogate.wire.commands import OrderFacts, command_body

OPERATIONS = OperationTable("orders")


class OrderOut(OrderFacts, frozen=True):
    """A command to a module, and how it ended. `problem` is the message of the device or driver, if the command failed.

    `userId` is the person who sent the command, if it is known. `plantName` and `moduleName` are present only if
    the request has the query parameter `names=true`. The name of a deleted plant or module is left out.
    """

    deadline: datetime
    queued_at: datetime
    sent_at: datetime | None
    ended_at: datetime | None
    plant_name: str | UnsetType = UNSET
    module_name: str | UnsetType = UNSET


def order_out(record: OrderRecord, names: Mapping[str, Named] = NO_NAMES) -> OrderOut:
    order = record.order
    return OrderOut.of(
        record,
        order,
        command=command_body(order.command),
        plant_name=name_of(names, order.plant_id),
        module_name=name_of(names, order.module_id),
    )


class OrderPage(NamedPage, frozen=True, forbid_unknown_fields=True, rename="camel"):
    plant_id: Annotated[str, Meta(description="Only orders for this plant.")] | None = None
    module_id: Annotated[str, Meta(description="Only orders for this module.")] | None = None
    state: Annotated[OrderState, Meta(description="Only orders in this state.")] | None = None
    open: Annotated[bool, Meta(description="Only orders that have not ended.")] = False


@OPERATIONS.add("GET /orders", "Commands and their results; the newest is first")
async def list_orders(services: ManagementServices, _call: OperatorCall, query: OrderPage) -> Listing[OrderOut]:
    plant_id = read_optional_id("query", "plantId", query.plant_id)
    module_id = read_optional_id("query", "moduleId", query.module_id)
    before = None if query.after is None else _read_time(query.after)
    wanted = OrderFilter(plant_id, module_id, query.state, query.open)
    found = await services.store.list_orders(wanted, query.limit + 1, before)
    # The orders of one scene have the same time, and must be on the same page.
    end = end_of_page(found, query.limit, lambda record: record.queued_at)
    following = repr(found[end - 1].queued_at) if len(found) > query.limit else None
    shown = found[:end]
    names = await find_names(
        services, query, (one for record in shown for one in (record.order.plant_id, record.order.module_id))
    )
    return Listing([order_out(record, names) for record in shown], following)


def _read_time(cursor: str) -> float:
    try:
        # float() also accepts words such as `nan`. A cursor contains no letters.
        return float(cursor if cursor.replace(".", "", 1).isdecimal() else "")
    except ValueError:
        raise wrong_cursor() from None


@OPERATIONS.add("GET /orders/{orderId}", "One order; if the command had an Idempotency-Key, this key is the id of the order")
async def get_order(services: ManagementServices, call: OperatorCall) -> OrderOut:
    record = await services.store.find_order(call.path["orderId"])
    if record is None:
        raise NotFound("There is no such order, or it was too old and has been deleted.")
    return order_out(record)
