"""All commands, in the groups of the help text. The module of a command is imported only when this command runs, so that every
command starts fast (Decision 0098).
"""

import click

from domogate import __version__
from domogate.cli._flags import CONFIG_HELP, flag_help
from domogate.cli._listed import CommandList
from domogate.cli._options import PlainOption
from domogate.edge.logs import setup_logs

PANELS = {
    "Run a gateway": {
        "serve": "Run the gateway until SIGTERM or Ctrl-C. Begin with this command: it prints the next step.",
        "demo": "Run a gateway with simulated plants and public passwords, and print calls to try.",
        "init": "Create the first operator and print a link to set the password.",
        "backup": "Write a consistent copy of the store to a file.",
        "restore": "Restore a backup into a data folder without a database.",
        "move": "Copy all data of a stopped gateway from SQLite to an empty PostgreSQL database, and compare both databases.",
        "clock": "The clock, and the clock time that the gateway stored last: show, confirm.",
        "service": "The files with which systemd runs the gateway: install, uninstall.",
        "cluster": "Gateways that share a database: show.",
        "doctor": "Check settings, disk, database, clock, certificate and connections, and say what to do.",
        "support-bundle": "Write versions, settings, counts and results of `domogate doctor` to a ZIP file, without secrets.",
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
        "conformance": "Check any implementation of the nine families against the contract.",
        "record": "Until Ctrl-C, forward requests to a gateway that serves the families, and write its redacted answers to a "
        "file.",
        "replay": "Serve the answers of a recording until Ctrl-C.",
        "openapi": "Print one OpenAPI 3.1 document, or write all documents.",
        "version": "Print the version.",
    },
}


def _print_version(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"domogate {__version__}")
        context.exit()


cli = CommandList(
    PANELS,
    name="domogate",
    params=[
        PlainOption(["--data"], metavar="DIR", help=flag_help("data")),
        PlainOption(["--config"], metavar="FILE", help=CONFIG_HELP),
        PlainOption(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_version,
            help="Print the version and exit.",
        ),
    ],
    help="A self-hosted gateway for connected homes and buildings.",
)


def run() -> None:
    setup_logs("warning")  # Logs go to standard error and are redacted. A gateway sets up logs again from its settings.
    cli(prog_name="domogate")
