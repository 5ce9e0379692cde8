"""`domogate key …`: the subscription keys that callers send as Ocp-Apim-Subscription-Key (Spec 5.1)."""

from typing import Annotated

import click

from domogate.app import new_subscription
from domogate.cli._command import Mistake, changing, command, group, refuse_missing
from domogate.cli._names import choose
from domogate.cli._options import argument, option
from domogate.cli._output import AsJson, iso, note, print_json, print_records
from domogate.cli._words import optional_duration
from domogate.domain.people import Subscription
from domogate.settings import Settings

commands = group("key")


@command(commands, "issue")
async def issue_key(
    settings: Settings,
    name: Annotated[str, argument("NAME", "A name for the key, for example its application or owner.")],
    rate: Annotated[str | None, option("N/UNIT", "Highest rate, such as 10/second or 600/minute. Default: no limit.")] = None,
    daily_quota: Annotated[
        int | None, option("N", "Highest number of requests in a day (UTC). Default: no limit.", min=1)
    ] = None,
    expires_in: Annotated[str | None, option("DURATION", "Lifetime, such as 90d, 12h, 30m or 45s. Default: no end.")] = None,
    as_json: AsJson = False,
) -> None:
    """Issue a subscription key and print it. It is not shown again, because the store keeps only its hash."""
    from domogate.services.audit import AuditAction, key_ref  # `domogate key list` does not need these imports.
    from domogate.services.people import COMMAND_LINE, check_name

    check_name(name)
    lifetime = optional_duration(expires_in)
    async with changing(settings) as tools:
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
            click.echo(key)
            note(f"The key of {name}, id {subscription.id}. It is not shown again.")


@command(commands, "list")
async def list_keys(settings: Settings, as_json: AsJson = False) -> None:
    """List subscription keys with their rates, quotas and states. The keys themselves are not shown."""
    from domogate.app import list_subscriptions  # imports a part of the store

    refuse_missing(settings)
    subscriptions, now = await list_subscriptions(settings)
    shown = [_shown(subscription, now) for subscription in subscriptions]
    print_records(as_json, shown, ("id", "name", "hint", "state", "rate", "daily_quota", "created_at", "expires_at"))


@command(commands, "revoke")
async def revoke_key(settings: Settings, key: Annotated[str, argument("ID", "Id or name of the key.")]) -> None:
    """Revoke a key. The next request with it is refused."""
    from domogate.services.audit import AuditAction, key_ref  # `domogate key list` does not need these imports.
    from domogate.services.people import COMMAND_LINE

    async with changing(settings) as tools:
        every = await tools.store.list_subscriptions()
        matching = [one for one in every if key.lower() == one.id or (key == one.name and one.revoked_at is None)]
        subscription = choose(matching, key, "key", "`domogate key list` shows all keys", lambda one: one.id)
        revoked = await tools.store.revoke_subscription(subscription.id, tools.clock.now())
        if revoked is None:
            raise Mistake(f"the key {subscription.id} no longer exists.")
        if revoked:
            tools.people.note(AuditAction.KEY_REVOKED, COMMAND_LINE, key_ref(subscription.id))
    note(f"Revoked the key of {subscription.name}, id {subscription.id}.")


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
