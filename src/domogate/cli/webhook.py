"""`domogate webhook …`: where applications are told of events, and what could not be told them."""

from typing import Annotated

import typer

from domogate.app import Tools, open_tools
from domogate.cli._command import Mistake, command
from domogate.cli._devices import as_printed
from domogate.cli._output import AsJson, iso, note, print_json, print_table
from domogate.cli._people import find_plant
from domogate.domain.ids import DASHED_UUID, Id
from domogate.domain.webhooks import Webhook
from domogate.services.webhooks.administration import WebhookAdministration
from domogate.settings import Settings
from domogate.wire.webhooks import read_cursors, show_dead_letter, show_webhook

webhooks = typer.Typer(help="Webhooks: where applications are told of events.", no_args_is_help=True)

WebhookId = Annotated[str, typer.Argument(metavar="ID", help="Its id; `domogate webhook list` shows all.")]


def register(cli: typer.Typer) -> None:
    cli.add_typer(webhooks, name="webhook")


def _desk(tools: Tools) -> WebhookAdministration:
    return WebhookAdministration(tools.store, tools.clock, tools.audit)


def _id(text: str) -> Id:
    found = DASHED_UUID.parse_id(text)
    if found is None:
        raise Mistake(f"{text!r} is no id of a webhook; `domogate webhook list` shows all.")
    return found


@command(webhooks, "list")
async def list_webhooks(
    settings: Settings,
    plant: Annotated[str | None, typer.Option(metavar="PLANT", help="Only those for this plant, by id or name.")] = None,
    as_json: AsJson = False,
) -> None:
    """List webhooks, the oldest first, and how they fare."""
    async with open_tools(settings) as tools:
        plant_id = None if plant is None else (await find_plant(tools, plant)).id
        found = await _desk(tools).list(plant_id)
    if as_json:
        print_json([as_printed(show_webhook(webhook)) for webhook in found])
        return
    rows = [(one.id, one.client_id, one.plant_id, _fares(one), one.problem or one.ended_why or "-", one.url) for one in found]
    print_table(("id", "client", "plant", "state", "problem", "url"), rows)


@command(webhooks, "show")
async def show(settings: Settings, webhook: WebhookId, as_json: AsJson = False) -> None:
    """Show one webhook and how it fares."""
    async with open_tools(settings) as tools:
        found = await _desk(tools).get(_id(webhook))
    if as_json:
        print_json(as_printed(show_webhook(found)))
        return
    typer.echo(f"{found.url}: {_fares(found)}")
    for name, text in (
        ("client", found.client_id),
        ("plant", found.plant_id),
        ("kinds", ", ".join(found.kinds) or "all"),
        ("form", found.form),
        ("registered at", iso(found.created_at)),
        ("come as far as event", str(found.position)),
        ("failing since", iso(found.failing_since)),
        ("next attempt at", iso(found.next_at or None)),
        ("ended at", iso(found.ended_at)),
    ):
        typer.echo(f"{name}: {text or '-'}")
    if found.problem or found.ended_why:
        typer.echo(f"problem: {found.problem or found.ended_why}")


@command(webhooks, "remove")
async def remove(settings: Settings, webhook: WebhookId) -> None:
    """Remove a webhook and everything that is kept for it. A running gateway stops delivering within seconds."""
    async with open_tools(settings) as tools:
        await _desk(tools).remove(_id(webhook))
    note(f"The webhook {webhook} is removed.")


@command(webhooks, "dead")
async def dead(
    settings: Settings,
    webhook: WebhookId,
    after: Annotated[int, typer.Option(metavar="EVENT", min=0, help="Only those after the event with this id.")] = 0,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="How many at most.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List dead letters: events that the receiver did not take for days."""
    async with open_tools(settings) as tools:
        found = await _desk(tools).list_dead(_id(webhook), after=after, limit=limit)
    if as_json:
        print_json([as_printed(show_dead_letter(letter)) for letter in found])
        return
    rows = [
        (str(one.change.cursor), iso(one.change.at) or "", one.module_id or "-", str(one.attempts), one.problem or "-")
        for one in found
    ]
    print_table(("event", "at", "module", "attempts", "problem"), rows)
    if len(found) >= limit:
        note(f"There may be more: --after {found[-1].change.cursor} goes on.")


@command(webhooks, "replay")
async def replay(
    settings: Settings,
    webhook: WebhookId,
    events: Annotated[list[str] | None, typer.Argument(metavar="[EVENT]…", help="Only these; left out: all.")] = None,
) -> None:
    """Try dead letters again. A running gateway begins within seconds."""
    try:
        cursors = read_cursors(tuple(events) if events else None)
    except ValueError as error:
        raise Mistake(f"{error}.") from None
    async with open_tools(settings) as tools:
        replayed = await _desk(tools).replay(_id(webhook), cursors)
    if not replayed:
        raise Mistake("there are no such dead letters; `domogate webhook dead` lists them.")
    note(f"{replayed} {'is' if replayed == 1 else 'are'} tried again.")


def _fares(webhook: Webhook) -> str:
    if webhook.ended_at is not None:
        return f"ended {iso(webhook.ended_at)}"
    if webhook.failing_since is not None:
        return f"failing since {iso(webhook.failing_since)}"
    return "some events not taken" if webhook.next_at > 0 else "well"
