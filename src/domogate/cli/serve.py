"""`domogate serve`: runs the gateway. There are no default credentials."""

import gc
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
import msgspec

from domogate.app import find_missing_file
from domogate.cli._command import Mistake, WrongUsage, command, top_level
from domogate.cli._links import tell_link
from domogate.cli._options import option
from domogate.cli._output import note
from domogate.cli._owner import refuse_root
from domogate.cli._ready import Ready, ReadyFile, withdraw, write_ready
from domogate.edge.service_manager import take_sockets, tell
from domogate.ports import UnnamedDrivers
from domogate.settings import Settings, check_cluster, check_exposure, describe_unknown_proxy
from domogate.settings.declared import list_flags

if TYPE_CHECKING:
    from domogate.app import Gateway

commands = top_level()


@command(commands, "serve", flags=list_flags())
async def serve(
    settings: Settings,
    processes: Annotated[
        int, option("N", "Number of processes that share the port, each a gateway of the cluster.", min=1, max=256)
    ] = 1,
    ready_file: ReadyFile = None,
) -> None:
    """Run the gateway until SIGTERM or Ctrl-C. Begin with this command: it prints the next step.

    No option is required. Most gateways need only --data, --host, --port and --public-url, and either --trusted-proxies, or
    --tls-certificate together with --tls-key. A TOML file (--config) can contain all settings.

    There is no default user, key or password. With --processes, a machine with several cores runs several gateways on one
    port. They need the settings of a cluster.
    """
    managed = take_sockets()
    if managed and processes > 1:
        raise WrongUsage("--processes opens the port itself: disable the socket unit, or use one process.")
    for host, port in [one.getsockname()[:2] for one in reversed(managed)] or [(settings.host, settings.port)]:
        settings = msgspec.structs.replace(settings, host=host, port=port)
        check_exposure(settings)
    check_cluster(settings)
    refuse_root(settings)
    if (new := find_missing_file(settings)) is not None:
        note(f"Creating the database {new.absolute()} …")

    from domogate.app import UnnamedDriversError
    from domogate.app import serve as serve_gateway
    from domogate.app.processes import open_process

    process = open_process()
    if process is None and processes > 1:
        await _serve_processes(settings, processes, ready_file)
        return

    async def on_ready(gateway: "Gateway") -> None:
        if process is None:
            _tell_address(gateway.settings)
        if process is None or process.number == 1:
            await _say_what_is_missing(gateway)
        if process is None:  # This is the last output: a script reads the other output when this file exists.
            _write_ready_file(gateway.settings, ready_file)
            tell("READY=1")
        else:
            await process.tell_ready()

    with withdraw(ready_file if process is None else None):
        try:
            await serve_gateway(settings, on_ready, named_drivers=True, process=process, managed=managed)
        except UnnamedDriversError as error:
            raise Mistake(_say_what_to_name(error.unnamed, settings)) from None


async def _serve_processes(settings: Settings, processes: int, ready_file: Path | None) -> None:
    from domogate.app.processes import Supervisor, this_command

    gc.enable()  # This process does not become a gateway.

    async def on_ready(port: int) -> None:
        listening = msgspec.structs.replace(settings, port=port)
        _tell_address(listening)
        _write_ready_file(listening, ready_file)
        tell("READY=1")

    with withdraw(ready_file):
        if code := await Supervisor(settings, processes, this_command()).run(on_ready):
            raise click.exceptions.Exit(code)


def _tell_address(settings: Settings) -> None:
    note(f"Serving on {settings.base_url}" if _is_own(settings) else _name_both(settings))
    if (unknown := describe_unknown_proxy(settings)) is not None:
        note(f"Warning: {' '.join(unknown)}")


def _is_own(settings: Settings) -> bool:
    """Whether the URL for clients has the address and the port on which the gateway listens."""
    return msgspec.structs.replace(settings, public_url=None).base_url == settings.base_url


def _name_both(settings: Settings) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"Listening on {host}:{settings.port}; clients use {settings.base_url}"


def _write_ready_file(settings: Settings, ready_file: Path | None) -> None:
    if ready_file is not None:
        write_ready(ready_file, Ready(base_url=settings.base_url, auth_url=settings.auth_url))


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
    where, store = _where(gateway.settings), gateway.store
    # There may be many users, so they are read only if none of them is an active operator.
    users = [] if (has_operator := await store.has_active_operator()) else await store.list_users()
    operators = [user for user in users if user.operator]
    if operators:
        note("No operator has set a password yet. Open the link of `domogate init`. If it is lost, get a new link with:")
        note(f"  domogate user password-link {operators[0].email} {where}")
    elif not has_operator:
        _offer_operator(gateway, where)
        if gateway.settings.serves_pages:
            note("The rest is set up in the browser: homes, devices, people, applications.")
            if not users:
                note(f"If you have an estate file, import it first:\n  domogate estate import FILE {where}")
            return
    if not users and not has_operator:
        note("The store is empty. If you have an estate file with your plants and users, run:")
        note(f"  domogate estate check FILE\n  domogate estate import FILE {where}")
        note("This gateway serves the estate at once. `domogate demo` shows an example.")
    elif not await store.list_subscriptions():
        note("Requests of applications need a subscription key, and there is no key yet. Run:")
        note(f"  domogate key issue NAME {where}")


def _offer_operator(gateway: "Gateway", where: str) -> None:
    """Print how a person becomes the first operator.

    If the output is a terminal, print a link. Otherwise print a command, because a log must not contain the link (Decision
    0095). A member of a cluster prints the command even at a terminal. The other members would not know the link.
    """
    if sys.stdout.isatty() and gateway.settings.cluster is None:
        note("There is no operator yet.")
        advice = "Open this link in a browser to become the operator. The link asks for your e-mail."
        tell_link(gateway.people.offer_first_operator(), "", as_json=False, advice=advice)
    else:
        note("There is no operator yet. In another terminal, run this command, and open the link that it prints:")
        note(f"  domogate init {where}")


def _where(settings: Settings) -> str:
    """Return the flag that names the data folder or the database. The operator needs it for a command in another terminal.

    The path is absolute, because the other terminal may be in another folder. A database URL may contain a password. So the
    flag is `--database URL`, without the real URL.
    """
    return f"--data {shlex.quote(str(settings.data.absolute()))}" if settings.database is None else "--database URL"
