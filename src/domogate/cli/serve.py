"""`domogate serve`: runs the gateway. There are no default credentials."""

from typing import TYPE_CHECKING

import typer

from domogate.cli._command import Mistake, command
from domogate.cli._output import note
from domogate.cli._ready import Ready, ReadyFile, withdraw, write_ready
from domogate.ports import UnnamedDrivers
from domogate.settings import Settings, check_cluster, check_exposure
from domogate.settings.declared import list_flags

if TYPE_CHECKING:
    from domogate.app import Gateway

commands = typer.Typer()


@command(commands, "serve", flags=list_flags())
async def serve(settings: Settings, ready_file: ReadyFile = None) -> None:
    """Run the gateway until SIGTERM or Ctrl-C. There is no default user, key or password."""
    check_exposure(settings)
    check_cluster(settings)

    async def on_ready(gateway: "Gateway") -> None:
        note(f"Serving on {gateway.settings.base_url}")
        await _say_what_is_missing(gateway)
        if ready_file is not None:
            write_ready(ready_file, Ready(base_url=gateway.settings.base_url, auth_url=gateway.settings.auth_url))

    from domogate.app import UnnamedDriversError
    from domogate.app import serve as serve_gateway

    with withdraw(ready_file):
        try:
            await serve_gateway(settings, on_ready, named_drivers=True)
        except UnnamedDriversError as error:
            raise Mistake(_say_what_to_name(error.unnamed, settings)) from None


def _say_what_to_name(unnamed: UnnamedDrivers, settings: Settings) -> str:
    others = f", and so do {unnamed.count - 1} other modules" if unnamed.count > 1 else ""
    where = _where(settings)
    return (
        f"The module '{unnamed.module}' in '{unnamed.plant}' ({unnamed.module_id}) needs a driver{others}. An earlier version\n"
        "simulated every module whose estate file named no driver, and its states, readings and test results were invented.\n"
        f"Run `domogate estate export estate.yaml {where}`. In this file, `driver: simulator` means simulated devices: keep\n"
        f"it, or write the real driver. Then run `domogate estate import estate.yaml {where}`, and start the gateway again."
    )


async def _say_what_is_missing(gateway: "Gateway") -> None:
    where = _where(gateway.settings)
    users = await gateway.store.list_users()
    if not any(user.operator for user in users):
        note("There is no operator yet. In another terminal, run this command, and open the link that it prints:")
        note(f"  domogate init {where}")
        if gateway.settings.serves_pages:
            note("The rest is set up in the browser: homes, devices, people, applications.")
            if not users:
                note(f"If you have an estate file, import it first:\n  domogate estate import FILE {where}")
            return
    if not users:
        note("The store is empty. If you have an estate file with your plants and users, run:")
        note(f"  domogate estate check FILE\n  domogate estate import FILE {where}")
        note("This gateway serves the estate at once. `domogate demo` shows an example.")
    elif not await gateway.store.list_subscriptions():
        note("Requests of applications need a subscription key, and there is no key yet. Run:")
        note(f"  domogate key issue NAME {where}")


def _where(settings: Settings) -> str:
    """Return the flag that names the data, for a message. A database URL may contain a password, so it is not shown."""
    return f"--data {settings.data}" if settings.database is None else "--database URL"
