"""`domogate version`."""

import platform

import typer

from domogate import __version__
from domogate.cli._output import AsJson, print_json


def register(cli: typer.Typer) -> None:
    @cli.command("version")
    def show_version(as_json: AsJson = False) -> None:
        """Say which version this is."""
        if as_json:
            print_json({"domogate": __version__, "python": platform.python_version()})
        else:
            typer.echo(f"domogate {__version__} (Python {platform.python_version()})")
