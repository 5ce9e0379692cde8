"""`domogate version`."""

import platform

import typer

from domogate import __version__
from domogate.cli._help import PlainCommand
from domogate.cli._output import AsJson, print_json

commands = typer.Typer()


@commands.command("version", cls=PlainCommand)
def show_version(as_json: AsJson = False) -> None:
    """Print the version."""
    if as_json:
        print_json({"domogate": __version__, "python": platform.python_version()})
    else:
        typer.echo(f"domogate {__version__} (Python {platform.python_version()})")
