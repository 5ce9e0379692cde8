"""`domogate version`: prints the version."""

import platform

import click

from domogate import __version__
from domogate.cli._command import plain_command, top_level
from domogate.cli._output import AsJson, print_json

commands = top_level()


@plain_command(commands, "version")
def show_version(as_json: AsJson = False) -> None:
    """Print the version."""
    if as_json:
        print_json({"domogate": __version__, "python": platform.python_version()})
    else:
        click.echo(f"domogate {__version__} (Python {platform.python_version()})")
