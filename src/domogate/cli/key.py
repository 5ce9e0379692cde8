"""`domogate key …`: the subscription keys that callers send as Ocp-Apim-Subscription-Key (Spec 5.1)."""

from collections.abc import Sequence
from typing import Annotated

import typer

from domogate.app import new_subscription, open_tools
from domogate.cli._command import Mistake, command, until_applied
from domogate.cli._output import AsJson, iso, note, print_json, print_table
from domogate.cli._words import parse_duration
from domogate.domain.people import Subscription
from domogate.services.audit.log import AuditAction, key_ref
from domogate.services.people.people import COMMAND_LINE
from domogate.settings import Settings

keys = typer.Typer(help="Subscription keys: issue, list, revoke.", no_args_is_help=True)


def register(cli: typer.Typer) -> None:
    cli.add_typer(keys, name="key")


@command(keys, "issue")
async def issue_key(
    settings: Settings,
    name: Annotated[str, typer.Argument(help="Whose key it is, to recognise it by.")],
    rate: Annotated[str | None, typer.Option(metavar="N/UNIT", help="As 10/second or 600/minute; none by default.")] = None,
    daily_quota: Annotated[int | None, typer.Option(min=1, help="Requests a UTC day; none by default.")] = None,
    expires_in: Annotated[str | None, typer.Option(metavar="TIME", help="As 90d, 12h, 30m or 45s; never by default.")] = None,
    as_json: AsJson = False,
) -> None:
    """Issue a key and print it. It is kept only as a hash: this is the one time that it is shown."""
    lifetime = None if expires_in is None else parse_duration(expires_in)
    async with open_tools(settings) as tools:
        now = tools.clock.now()
        expires_at = None if lifetime is None else now + lifetime
        try:
            key, subscription = new_subscription(name, rate, daily_quota, expires_at, now)
        except ValueError as error:
            raise Mistake(str(error)) from None
        await tools.store.add_subscription(subscription)
        tools.people.note(AuditAction.KEY_ISSUED, COMMAND_LINE, key_ref(subscription.id))
        if as_json:
            print_json({"key": key, **_shown(subscription, now)})
        else:
            typer.echo(key)
            note(f"Issued to {name}, id {subscription.id}. It will not be shown again.")
        await until_applied(tools.store)


@command(keys, "list")
async def list_keys(settings: Settings, as_json: AsJson = False) -> None:
    """List the keys: whose they are and what they may, never the keys themselves."""
    async with open_tools(settings) as tools:
        now = tools.clock.now()
        shown = [_shown(subscription, now) for subscription in await tools.store.list_subscriptions()]
    if as_json:
        print_json(shown)
        return
    columns = ("id", "name", "hint", "state", "rate", "daily_quota", "created_at", "expires_at")
    print_table(
        [column.replace("_", " ") for column in columns],
        [["-" if row[column] is None else str(row[column]) for column in columns] for row in shown],
    )


@command(keys, "revoke")
async def revoke_key(
    settings: Settings, key: Annotated[str, typer.Argument(metavar="ID", help="Its id, or its name.")]
) -> None:
    """Revoke a key: it is refused from the next request on."""
    async with open_tools(settings) as tools:
        subscription = _choose(await tools.store.list_subscriptions(), key)
        if not await tools.store.revoke_subscription(subscription.id, tools.clock.now()):
            raise Mistake(f"the key {subscription.id} is gone.")
        tools.people.note(AuditAction.KEY_REVOKED, COMMAND_LINE, key_ref(subscription.id))
        await until_applied(tools.store)
        note(f"Revoked the key of {subscription.name}, id {subscription.id}.")


def _choose(subscriptions: Sequence[Subscription], wanted: str) -> Subscription:
    matching = [one for one in subscriptions if wanted.lower() == one.id or (wanted == one.name and one.revoked_at is None)]
    if not matching:
        raise Mistake(f"there is no key with the id or name {wanted!r}; `domogate key list` shows all.")
    if len(matching) > 1:
        raise Mistake(f"several keys are called {wanted!r}; say which by id: {', '.join(one.id for one in matching)}.")
    return matching[0]


def _shown(subscription: Subscription, now: float) -> dict[str, str | int | None]:
    return {
        "id": subscription.id,
        "name": subscription.name,
        "hint": subscription.hint,
        "state": _state(subscription, now),
        "rate": subscription.rate,
        "daily_quota": subscription.daily_quota,
        "created_at": iso(subscription.created_at),
        "expires_at": iso(subscription.expires_at),
        "revoked_at": iso(subscription.revoked_at),
    }


def _state(subscription: Subscription, now: float) -> str:
    if subscription.revoked_at is not None:
        return "revoked"
    return "expired" if subscription.expires_at is not None and subscription.expires_at <= now else "good"
