"""All commands, in the groups of the help text."""

from typing import Annotated

import typer

from domogate import __version__
from domogate.cli import (
    audit,
    backup,
    client,
    clock,
    cluster,
    demo,
    discover,
    estate,
    fault,
    init,
    key,
    module,
    move,
    openapi,
    order,
    plant,
    readings,
    safety,
    secret_key,
    serve,
    signing_key,
    simulate,
    token,
    user,
    version,
    webhook,
)
from domogate.cli._command import summarize
from domogate.cli._flags import CONFIG_HELP, flag_help
from domogate.cli._help import PlainGroup
from domogate.cli._options import option
from domogate.edge.logs import setup_logs

cli = typer.Typer(
    name="domogate",
    cls=PlainGroup,
    help="A self-hosted gateway for connected homes and buildings.",
    epilog="Exit codes: 0 success; 1 failure, standard error says why; 2 wrong command line or setting. "
    "`domogate COMMAND --help` explains a command.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
PANELS = {
    "Run a gateway": (serve, demo, init, backup, move, clock, cluster),
    "Plants, people and access": (estate, plant, user, client, key, token, signing_key, secret_key, audit),
    "Devices": (module, order, readings, fault, simulate, discover, webhook, safety),
    "Other": (openapi, version),
}
for panel, nouns in PANELS.items():
    for noun in nouns:
        if isinstance(noun.commands.info.name, str):
            cli.add_typer(noun.commands, help=summarize(noun.commands), rich_help_panel=panel)
        else:  # Not a group: its commands are at the top level.
            cli.add_typer(noun.commands, rich_help_panel=panel)
            for top_level in noun.commands.registered_commands:
                top_level.rich_help_panel = panel


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
