"""The command line: one file a noun, each going through `app.py`."""

from typing import Annotated

import typer

import domogate.cli.audit as audit
import domogate.cli.backup as backup
import domogate.cli.client as client
import domogate.cli.demo as demo
import domogate.cli.discover as discover
import domogate.cli.estate as estate
import domogate.cli.fault as fault
import domogate.cli.init as init
import domogate.cli.key as key
import domogate.cli.module as module
import domogate.cli.openapi as openapi
import domogate.cli.order as order
import domogate.cli.plant as plant
import domogate.cli.readings as readings
import domogate.cli.safety as safety
import domogate.cli.serve as serve
import domogate.cli.signing_key as signing_key
import domogate.cli.simulate as simulate
import domogate.cli.token as token
import domogate.cli.user as user
import domogate.cli.version as version
import domogate.cli.webhook as webhook
from domogate.cli._flags import CONFIG_HELP, FLAGS
from domogate.edge.logs import setup_logs

cli = typer.Typer(
    name="domogate",
    help="A self-hosted gateway for connected homes and buildings.",
    epilog="Exit codes: 0 done; 1 could not be done, standard error says why; 2 wrong command line or setting.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
NOUNS = (
    *(init, serve, demo, estate),
    *(user, client, plant, key, token, signing_key, audit),
    *(module, order, readings, safety, webhook, fault, simulate, discover),
    *(openapi, backup, version),
)
for noun in NOUNS:
    noun.register(cli)


@cli.callback()
def _before_every_command(
    data: Annotated[str | None, typer.Option(metavar="DIR", help=FLAGS["data"].help)] = None,
    config: Annotated[str | None, typer.Option(metavar="FILE", help=CONFIG_HELP)] = None,
) -> None:
    """A self-hosted gateway for connected homes and buildings."""


def main() -> None:
    setup_logs("warning")  # on standard error, and redacted; a gateway sets it up anew by its settings
    cli(prog_name="domogate")
