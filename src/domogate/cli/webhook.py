"""`domogate webhook …`: webhooks of all applications, their health, and their dead letters."""

from typing import Annotated

import click

from domogate.app import Tools
from domogate.cli._command import Mistake, command, group, opened, reading
from domogate.cli._names import OnlyPlant, find_plant_id
from domogate.cli._options import argument, option
from domogate.cli._output import AsJson, as_printed, iso, note, note_more, print_fields, print_json, print_list
from domogate.domain.ids import DASHED_UUID, Id
from domogate.domain.webhooks import Webhook
from domogate.services.webhooks.administration import WebhookAdministration
from domogate.settings import Settings
from domogate.wire.webhooks import dead_letter_out, webhook_out

commands = group("webhook")

WebhookId = Annotated[str, argument("ID", "Id of the webhook; `domogate webhook list` shows all.")]


def _administration(tools: Tools) -> WebhookAdministration:
    return WebhookAdministration(tools.store, tools.clock, tools.audit)


def _id(text: str) -> Id:
    found = DASHED_UUID.parse_id(text)
    if found is None:
        raise Mistake(f"{text!r} is not the id of a webhook; `domogate webhook list` shows all webhooks.")
    return found


@command(commands, "list")
async def list_webhooks(settings: Settings, plant: OnlyPlant = None, as_json: AsJson = False) -> None:
    """List webhooks and their health. The oldest is first."""
    async with reading(settings) as tools:
        plant_id = await find_plant_id(tools, plant)
        found = await _administration(tools).list(plant_id)
    rows = ((one.id, one.client_id, one.plant_id, _health(one), one.problem or one.ended_why or None, one.url) for one in found)
    columns = ("id", "client", "plant", "state", "problem", "url")
    print_list(as_json, [as_printed(webhook_out(webhook)) for webhook in found], columns, rows)


@command(commands, "show")
async def show(settings: Settings, webhook: WebhookId, as_json: AsJson = False) -> None:
    """Show one webhook and its health."""
    async with reading(settings) as tools:
        found = await _administration(tools).get(_id(webhook))
    if as_json:
        print_json(as_printed(webhook_out(found)))
        return
    click.echo(f"{found.url}: {_health(found)}")
    print_fields(
        (
            ("client", found.client_id),
            ("plant", found.plant_id),
            ("kinds", ", ".join(found.kinds) or "all"),
            ("form", found.form),
            ("registered at", iso(found.created_at)),
            ("delivered up to event", str(found.position)),
            ("failing since", iso(found.failing_since)),
            ("next attempt at", iso(found.next_at or None)),
            ("ended at", iso(found.ended_at)),
        )
    )
    if found.problem or found.ended_why:
        click.echo(f"problem: {found.problem or found.ended_why}")


@command(commands, "remove")
async def remove(settings: Settings, webhook: WebhookId) -> None:
    """Remove a webhook with its stored deliveries. A running gateway stops delivering within seconds."""
    async with opened(settings) as tools:
        await _administration(tools).remove(_id(webhook))
    note(f"Removed the webhook {webhook}.")


@command(commands, "dead")
async def dead(
    settings: Settings,
    webhook: WebhookId,
    after: Annotated[int, option("EVENT", "Only events after this id. Default: 0.", min=0)] = 0,
    limit: Annotated[int, option("N", "Greatest number of dead letters, 1 to 100000.", min=1, max=100_000)] = 50,
    as_json: AsJson = False,
) -> None:
    """List dead letters: events that were given up because the receiver did not accept them."""
    async with reading(settings) as tools:
        found = await _administration(tools).list_dead(_id(webhook), after=after, limit=limit)
    rows = (
        (str(one.change.cursor), iso(one.change.at), one.module_id, str(one.attempts), one.problem or None) for one in found
    )
    shown = [as_printed(dead_letter_out(letter)) for letter in found]
    print_list(as_json, shown, ("event", "at", "module", "attempts", "problem"), rows)
    if not as_json:
        note_more(found, limit, f"--after {found[-1].change.cursor}" if found else "")


@command(commands, "replay")
async def replay(
    settings: Settings,
    webhook: WebhookId,
    events: Annotated[
        list[str] | None, argument("EVENT", "Ids of dead letters. Default: all dead letters of the webhook.")
    ] = None,
) -> None:
    """Deliver dead letters again. A running gateway begins within seconds."""
    if not all(text.isascii() and text.isdecimal() and len(text) < 19 for text in events or ()):
        raise Mistake("an id of a dead letter is a whole number.")
    cursors = [int(text) for text in events] if events else None
    async with opened(settings) as tools:
        replayed = await _administration(tools).replay(_id(webhook), cursors)
    if not replayed:
        raise Mistake("there are no such dead letters; `domogate webhook dead ID` lists them.")
    note(f"{replayed} dead {'letter is' if replayed == 1 else 'letters are'} delivered again.")


def _health(webhook: Webhook) -> str:
    if webhook.ended_at is not None:
        return f"ended {iso(webhook.ended_at)}"
    if webhook.failing_since is not None:
        return f"failing since {iso(webhook.failing_since)}"
    return "some events wait" if webhook.next_at > 0 else "healthy"
