"""All commands, in the groups of the help text. A command's module is imported when the command runs (Decision 0098)."""

from typing import Annotated, Any

import typer

from domogate import __version__
from domogate.cli._flags import CONFIG_HELP, flag_help
from domogate.cli._help import PlainGroup
from domogate.cli._listed import ListedCommand
from domogate.cli._options import option
from domogate.edge.logs import setup_logs

PANELS = {
    "Run a gateway": {
        "serve": "Run the gateway until SIGTERM or Ctrl-C.",
        "demo": "Run a gateway with simulated plants and public passwords, and print calls to try.",
        "init": "Create the first operator and print a link to set the password.",
        "backup": "Write a consistent copy of the store to a file.",
        "restore": "Fill an empty data folder from a backup.",
        "move": "Copy all data of a stopped gateway from its SQLite file to an empty PostgreSQL database, and compare the two.",
        "clock": "The clock, and the time that the gateway last saw: show, confirm.",
        "cluster": "Gateways that share a database: show.",
    },
    "Plants, people and access": {
        "estate": "The estate file: new, check, import, export, schema.",
        "plant": "Plants and who may use them: list, show, invite, withdraw, allow, limit, remove, restore.",
        "user": "Users: add, list, show, change, standing, password-link, operator, second-factor-reset, passkey-remove, "
        "external-unbind, logout, delete.",
        "client": "Applications (OAuth clients): add, list, show, change, rotate-secret, delete.",
        "key": "Subscription keys: issue, list, revoke.",
        "token": "Tokens: issue, revoke.",
        "signing-key": "Signing keys: list, rotate.",
        "secret-key": "The key that encrypts secrets in the database: show-id, rotate.",
        "audit": "The audit log: list, verify, export.",
    },
    "Devices": {
        "module": "Modules, their last states, and why a module cannot be reached: list, show.",
        "order": "Commands that were sent to devices, and their outcomes: list, show.",
        "readings": "Measured values: export.",
        "fault": "Faults on demand in a plant or module: inject, list, clear.",
        "simulate": "Behaviour of simulated devices, and a plot of a day: module, day.",
        "discover": "Devices that are found, as lines for the estate file: mqtt.",
        "webhook": "Webhooks and their dead letters: list, show, remove, dead, replay.",
        "safety": "Emergency lighting: report, schedule, logbook, log, order-list.",
    },
    "Other": {
        "openapi": "Print one OpenAPI 3.1 document, or write all documents.",
        "version": "Print the version.",
    },
}
_MODULES = {"restore": "backup"}
"""The commands that are in a module of another name."""


class _CommandLine(PlainGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for panel, listed in PANELS.items():
            for name, about in listed.items():
                module = _MODULES.get(name, name.replace("-", "_"))
                self.add_command(ListedCommand(name, about, panel, f"domogate.cli.{module}"))


cli = typer.Typer(
    name="domogate",
    cls=_CommandLine,
    help="A self-hosted gateway for connected homes and buildings.",
    epilog="Exit codes: 0 success; 1 failure, standard error says why; 2 wrong command line or setting. "
    "`domogate COMMAND --help` explains a command.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"domogate {__version__}")
        raise typer.Exit


@cli.callback()
def _before_every_command(
    data: Annotated[str | None, option("DIR", flag_help("data"))] = None,
    config: Annotated[str | None, option("FILE", CONFIG_HELP)] = None,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and exit.")
    ] = False,
) -> None:
    """A self-hosted gateway for connected homes and buildings."""


def run() -> None:
    setup_logs("warning")  # Logs go to standard error and are redacted. A gateway sets up logs again from its settings.
    cli(prog_name="domogate")
