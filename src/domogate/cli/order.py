"""`domogate order …`: what became of commands. They are given through the running gateway (Decision 0042)."""

from collections.abc import Iterable
from typing import Annotated

import msgspec
import typer

from domogate.app import Tools, open_tools
from domogate.cli._command import Mistake, command
from domogate.cli._devices import as_printed, find_module
from domogate.cli._output import AsJson, iso, note, print_json, print_table
from domogate.cli._people import find_plant
from domogate.cli._words import parse_moment
from domogate.domain.commands import Command, OrderRecord, OrderState
from domogate.domain.ids import Id
from domogate.management.commands import word_of
from domogate.management.orders import show_order
from domogate.settings import Settings

orders = typer.Typer(help="Orders: what became of commands.", no_args_is_help=True)


def register(cli: typer.Typer) -> None:
    cli.add_typer(orders, name="order")


@command(orders, "list")
async def list_orders(
    settings: Settings,
    plant: Annotated[str | None, typer.Option(metavar="PLANT", help="Only orders for this plant, by id or name.")] = None,
    module: Annotated[str | None, typer.Option(metavar="MODULE", help="Only orders for this module, by id or name.")] = None,
    state: Annotated[OrderState | None, typer.Option(help="Only orders in this state.")] = None,
    before: Annotated[
        str | None, typer.Option(metavar="TIME", help="Only earlier ones: 2026-11-15T08:30:00Z, or a day.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="How many at most, the newest first.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List orders, the newest first: who was to do what, and what became of it."""
    earlier = None if before is None else parse_moment(before)
    async with open_tools(settings) as tools:
        plant_id = None if plant is None else (await find_plant(tools, plant)).id
        module_id = None if module is None else (await find_module(tools, module))[1].id
        found = await tools.store.list_orders(plant_id, module_id, state, earlier, limit)
        names = {} if as_json else await _names(tools, found)
    if as_json:
        print_json([as_printed(show_order(record)) for record in found])
        return
    rows = [
        (iso(one.queued_at) or "", one.state, names.get(one.order.module_id, one.order.module_id), _words(one.order.command),
         one.problem or "-", one.order.id)
        for one in found
    ]  # fmt: skip
    print_table(("at", "state", "module", "command", "problem", "id"), rows)
    if len(found) >= limit:
        note(f"There may be more: --before {found[-1].queued_at!r} goes on.")


@command(orders, "show")
async def show(
    settings: Settings,
    order: Annotated[str, typer.Argument(metavar="ID", help="Its id; the idempotency key, where one was given.")],
    as_json: AsJson = False,
) -> None:
    """Show one order and what became of it."""
    async with open_tools(settings) as tools:
        record = await tools.store.find_order(order)
        if record is None:
            raise Mistake(f"there is no order {order!r}; `domogate order list` shows the newest.")
        names = await _names(tools, (record,))
    if as_json:
        print_json(as_printed(show_order(record)))
        return
    told = record.order
    typer.echo(f"{_words(told.command)}, for {names.get(told.module_id, told.module_id)}: {record.state}")
    for name, at in (
        ("queued at", record.queued_at),
        ("sent at", record.sent_at),
        ("ended at", record.ended_at),
        ("deadline", told.deadline),
    ):
        typer.echo(f"{name}: {iso(at) or '-'}")
    if record.problem:
        typer.echo(f"problem: {record.problem}")


def _words(told: Command) -> str:
    said = [f"{name} {value}" for name, value in msgspec.to_builtins(told).items() if name != "do" and value is not None]
    return " ".join([word_of(told), *said])


async def _names(tools: Tools, records: Iterable[OrderRecord]) -> dict[Id, str]:
    """Of the modules that are still there."""
    names: dict[Id, str] = {}
    for plant_id in {record.order.plant_id for record in records}:
        stored = await tools.store.find_plant(plant_id)
        if stored is not None:
            names |= {module.id: f"{module.name} in {stored.plant.name}" for module in stored.topology.every_module()}
    return names
