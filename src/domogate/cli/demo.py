"""`domogate demo`: the gateway with the demo estate, for developers of applications."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from domogate.app import open_tools
from domogate.cli._command import Mistake, WrongUsage, command, top_level
from domogate.cli._files import write_file
from domogate.cli._greeting import greeting
from domogate.cli._owner import refuse_root
from domogate.cli._ready import Ready, ReadyFile, withdraw, write_credentials, write_ready
from domogate.cli._ready_users import make_ready
from domogate.cli._testing import TestEstate, Testing, check_testing, choose_loop, serve_kit
from domogate.cli.token import DEMO_CLIENT
from domogate.console.shell import Demo, DemoUser
from domogate.domain.people import Subscription
from domogate.estate import EstateFile, build_estate, demo_terms, demo_text, read_estate
from domogate.identity.secret_keys import KEY_FILE
from domogate.settings import Settings, check_cluster
from domogate.settings.declared import list_flags

if TYPE_CHECKING:
    from domogate.app import Gateway

commands = top_level()

_PUBLIC_KEY = "RG9tb2dhdGUgZGVtbzogYSBwdWJsaWMga2V5IDEyMzQ=\n"
"""The secret key of the demo. It is public, like the passwords of the demo."""


@command(commands, "demo", flags=list_flags(), loop=choose_loop)
async def demo(
    settings: Settings, given: frozenset[str], ready_file: ReadyFile = None, testing: Testing = False, estate: TestEstate = None
) -> None:
    """Run a gateway with simulated plants and public passwords, and print calls to try.

    It listens only on this machine, unless --host names another address. With --data the data is kept for the next run. Without
    --data it is in a temporary folder. With --testing, tests of applications can reset the gateway and control it
    (docs/testing-apps.md).
    """
    check_cluster(settings)
    if testing:
        check_testing(settings, given)
        with withdraw(ready_file):
            await serve_kit(_show_terms(_allow_own_receivers(_allow_self_service(settings, given), given)), ready_file, estate)
        return
    if estate is not None:
        raise WrongUsage(
            "--estate is only for --testing. Use `domogate estate import` and `domogate serve` for your own estate."
        )
    file = read_estate(demo_text(), "the demo estate")

    async def on_ready(gateway: "Gateway") -> None:
        ready = await _make_ready(gateway, file)
        write_credentials(gateway.settings.data, ready)
        click.echo(greeting(gateway.settings, ready, await gateway.store.export_estate()))
        if ready_file is not None:
            write_ready(ready_file, ready)

    from domogate.app import serve as serve_gateway

    settings = _show_terms(_allow_own_receivers(_allow_self_service(settings, given), given))
    with _data_folder(settings, given) as placed, withdraw(ready_file):
        refuse_root(placed)
        await _import_once(placed, file)
        await serve_gateway(placed, on_ready, demo=_publish(file))


def _publish(file: EstateFile) -> Demo:
    """Return the users with their passwords and the subscription key of the demo, for the pages.

    With them, the pages log a user in with one click, and call the families. They are public: `domogate demo` prints them too.
    """
    users = tuple(
        DemoUser(user.email, user.name, file.passwords[user.id], user.operator)
        for user in file.estate.users
        if user.id in file.passwords
    )
    return Demo(users, _find_key(file))


def _find_key(file: EstateFile) -> str:
    return next(file.keys[one.id] for one in file.estate.subscriptions if _is_unlimited(one))


def _allow_own_receivers(settings: Settings, given: frozenset[str]) -> Settings:
    """Allow webhooks to call this machine if the setting `webhook_networks` is not given (Decision 0046)."""
    if "webhook_networks" in given or settings.webhook_networks:
        return settings
    return msgspec.structs.replace(settings, webhook_networks=("127.0.0.0/8", "::1"))


def _allow_self_service(settings: Settings, given: frozenset[str]) -> Settings:
    return settings if "self_service" in given else msgspec.structs.replace(settings, self_service=True)


def _show_terms(settings: Settings) -> Settings:
    """Set the terms of use of the demo if the settings name no terms. Two people of the demo have to accept them."""
    if settings.terms_file is not None or settings.terms_url is not None:
        return settings
    return msgspec.structs.replace(settings, terms_file=demo_terms())


@contextmanager
def _data_folder(settings: Settings, given: frozenset[str]) -> Iterator[Settings]:
    if "data" in given or settings.data != Settings().data:
        yield settings
        return
    with tempfile.TemporaryDirectory(prefix="domogate-demo-") as folder:
        if (
            settings.database is not None
        ):  # The database stays when the folder is removed, and the next run needs the same key to read it.
            write_file(Path(folder) / KEY_FILE, _PUBLIC_KEY)
        yield msgspec.structs.replace(settings, data=Path(folder))


async def _import_once(settings: Settings, file: EstateFile) -> None:
    """Import the demo estate into an empty store.

    A store that already has the demo estate is not changed. Raises Mistake if the store has another estate.
    """
    async with open_tools(settings) as tools:
        users = {user.id for user in await tools.store.list_users()}
        if not users and not await tools.store.list_clients():
            await tools.store.import_estate(await build_estate(file, tools.hasher), prune=False)
        elif not users & file.passwords.keys() or await tools.store.find_client(DEMO_CLIENT) is None:
            raise Mistake(
                f"{settings.data} holds another estate, and the demo would add public passwords to it.\n"
                "Use `domogate serve` for it, or choose another folder for the demo."
            )


async def _make_ready(gateway: "Gateway", file: EstateFile) -> Ready:
    """Return the content of the ready file.

    It has new tokens of every kind for each active user with a password in `file`.

    A user needs both an access token and an id token, because most families accept only one of these kinds.
    """
    return await make_ready(gateway, gateway.signer, file, DEMO_CLIENT, _find_key(file))


def _is_unlimited(subscription: Subscription) -> bool:
    return subscription.rate is None and subscription.daily_quota is None and subscription.expires_at is None
