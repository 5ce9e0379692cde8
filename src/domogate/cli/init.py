"""`domogate init`: creates the first operator, with a one-time link instead of a default password."""

import sys
from typing import Annotated

import typer

from domogate.cli._command import WrongUsage, changing, command
from domogate.cli._links import LINK_FLAGS, tell_link
from domogate.cli._output import AsJson
from domogate.cli._ready import at_noted_address
from domogate.settings import Settings

commands = typer.Typer()


@command(commands, "init", flags=LINK_FLAGS)
async def init(
    settings: Settings,
    email: Annotated[
        str | None, typer.Option(metavar="EMAIL", help="E-mail of the operator. Default: the command asks for it.")
    ] = None,
    name: Annotated[str, typer.Option(metavar="NAME", help="Name of the operator. Default: empty.")] = "",
    as_json: AsJson = False,
) -> None:
    """Create the first operator and print a link to set the password. Refused if an operator already exists."""
    if email is None:
        if not sys.stdin.isatty():
            raise WrongUsage("name the first operator: --email EMAIL.")
        email = typer.prompt("E-mail of the first operator", err=True)
        assert isinstance(email, str)
    async with changing(at_noted_address(settings)) as tools:
        user, link = await tools.people.create_first_operator(email.strip(), name)
        tell_link(link, user.email, as_json, {"id": user.id, "email": user.email})
