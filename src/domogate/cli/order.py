"""`domogate order …`: lists orders and their outcomes. It cannot send a command to a device: drivers run only in the gateway
(Decision 0042).
"""

from typing import Annotated

import click
import msgspec

from domogate.cli._command import Mistake, command, group, reading
from domogate.cli._names import OnlyPlant, Target, find_module, find_plant_id, module_names
from domogate.cli._options import argument, option
from domogate.cli._output import AsJson, as_printed, describe_values, iso, note_more, print_fields, print_json, print_list
from domogate.cli._words import TIME_HELP, optional_moment
from domogate.domain.commands import Command, OrderRecord, OrderState
from domogate.domain.ids import Id
from domogate.management.orders import order_out
from domogate.ports import OrderFilter
from domogate.settings import Settings
from domogate.wire.commands import word_of

commands = group("order")


@command(commands, "list")
async def list_orders(
    settings: Settings,
    plant: OnlyPlant = None,
    module: Annotated[str | None, option("MODULE", "Only this module, by id or name. Default: all.")] = None,
    state: Annotated[OrderState | None, option(None, "Only orders in this state. Default: all.")] = None,
    before: Annotated[str | None, option("TIME", f"Only orders before this time: {TIME_HELP}. Default: now.")] = None,
    limit: Annotated[int, option("N", "Greatest number of orders, 1 to 100000.", min=1, max=100_000)] = 50,
    as_json: AsJson = False,
) -> None:
    """List orders and their outcomes. The newest is first."""
    earlier = optional_moment(before)
    async with reading(settings) as tools:
        plant_id = await find_plant_id(tools, plant)
        module_id = None if module is None else (await find_module(tools, module))[1].id
        found = await tools.store.list_orders(OrderFilter(plant_id, module_id, state), limit, earlier)
        names = await module_names(tools, (record.order.plant_id for record in found))
    rows = (
        (iso(one.queued_at), one.state, _module(one, names), _words(one.order.command), one.problem or None, one.order.id)
        for one in found
    )
    columns = ("at", "state", "module", "command", "problem", "id")
    print_list(as_json, [as_printed(order_out(record)) for record in found], columns, rows)
    if not as_json:
        note_more(found, limit, f"--before {found[-1].queued_at!r}" if found else "")


@command(commands, "show")
async def show(
    settings: Settings,
    order: Annotated[str, argument("ID", "Id of the order: the idempotency key, if the management API got one.")],
    as_json: AsJson = False,
) -> None:
    """Show one order and its outcome."""
    async with reading(settings) as tools:
        record = await tools.store.find_order(order)
        if record is None:
            raise Mistake(f"there is no order {order!r}; `domogate order list` shows the newest orders.")
        names = await module_names(tools, (record.order.plant_id,))
    if as_json:
        print_json(as_printed(order_out(record)))
        return
    click.echo(f"{_words(record.order.command)}, for {_module(record, names)}: {record.state}")
    print_fields(
        (
            ("queued at", iso(record.queued_at)),
            ("sent at", iso(record.sent_at)),
            ("ended at", iso(record.ended_at)),
            ("deadline", iso(record.order.deadline)),
        )
    )
    if record.problem:
        click.echo(f"problem: {record.problem}")


def _words(command: Command) -> str:
    """Return the command as text, for example 'set light (on: yes, level: 40)'."""
    fields = {name: value for name, value in msgspec.to_builtins(command).items() if name != "do"}
    if "activation_time" in fields:
        fields["activation_time"] = iso(fields["activation_time"])
    values = describe_values(fields)
    return f"{word_of(command)} ({values})" if values else word_of(command)


def _module(record: OrderRecord, names: dict[Id, Target]) -> str:
    found = names.get(record.order.module_id)
    return record.order.module_id if found is None else found.words
