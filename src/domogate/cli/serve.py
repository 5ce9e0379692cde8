"""`domogate serve`: the gateway, with no default credential of any kind."""

from typing import TYPE_CHECKING

import typer

from domogate.cli._command import command
from domogate.cli._flags import FLAGS
from domogate.cli._output import note
from domogate.cli._ready import Ready, ReadyFile, note_address, withdraw, write_ready
from domogate.settings import Settings

if TYPE_CHECKING:
    from domogate.app import Gateway


def register(cli: typer.Typer) -> None:
    command(cli, "serve", flags=tuple(FLAGS))(serve)


async def serve(settings: Settings, ready_file: ReadyFile = None) -> None:
    """Serve what the store holds, until SIGTERM or Ctrl-C. There is no default user, key or password."""

    async def on_ready(gateway: "Gateway") -> None:
        note_address(gateway.settings)
        note(f"Serving on {gateway.settings.base_url}")
        await _say_what_is_missing(gateway)
        if ready_file is not None:
            write_ready(ready_file, Ready(base_url=gateway.settings.base_url, auth_url=gateway.settings.auth_url))

    from domogate.app import serve as serve_gateway

    with withdraw(ready_file):
        await serve_gateway(settings, on_ready)


async def _say_what_is_missing(gateway: "Gateway") -> None:
    # A database URL may hold a password: it is not repeated.
    where = f"--data {gateway.settings.data}" if gateway.settings.database is None else "--database URL"
    users = await gateway.store.list_users()
    if not users:
        note("The store is empty: nobody can be let in yet. Describe your estate in a file, then:")
        note(f"  domogate estate check FILE\n  domogate estate import FILE {where}")
        note("This gateway takes it up at once. `domogate demo` shows an estate that is filled.")
    elif not await gateway.store.list_subscriptions():
        note(f"Every request needs a subscription key, and none is issued yet:\n  domogate key issue NAME {where}")
    if not any(user.operator for user in users):
        note(f"There is no operator yet. This makes the first one, with a link to set their password:\n  domogate init {where}")
