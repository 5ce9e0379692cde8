"""Declarations of options and arguments that have a value."""

from typing import Any

import typer


def option(metavar: str, help: str, *names: str, **more: Any) -> Any:
    """Declare an option that has a value. `names` are its flags, if they differ from the name of the parameter.

    `more` are other arguments of typer.Option.
    """
    return typer.Option(*names, metavar=metavar, help=help, **more)


def argument(metavar: str, help: str, **more: Any) -> Any:
    """Declare an argument. `more` are other arguments of typer.Argument."""
    return typer.Argument(metavar=metavar, help=help, **more)
