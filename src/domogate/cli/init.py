"""`domogate init`: the first operator, by a one-time link instead of a default password."""

import sys
from typing import Annotated

import typer

from domogate.app import open_tools
from domogate.cli._command import WrongUsage, command, until_applied
from domogate.cli._output import AsJson
from domogate.cli._people import LINK_FLAGS, tell_link
from domogate.cli._ready import at_noted_address
from domogate.settings import Settings


def register(cli: typer.Typer) -> None:
    command(cli, "init", flags=LINK_FLAGS)(init)


async def init(
    settings: Settings,
    email: Annotated[
        str | None, typer.Option(metavar="EMAIL", help="Who operates this gateway; asked for when left out.")
    ] = None,
    name: Annotated[str, typer.Option(metavar="NAME", help="What they are called.")] = "",
    as_json: AsJson = False,
) -> None:
    """Make the first operator and print the link by which they set their password. Refused once there is one."""
    if email is None:
        if not sys.stdin.isatty():
            raise WrongUsage("say who the first operator is: --email EMAIL.")
        email = typer.prompt("E-mail of the first operator", err=True)
        assert isinstance(email, str)
    async with open_tools(at_noted_address(settings)) as tools:
        user, link = await tools.people.create_first_operator(email.strip(), name)
        tell_link(link, user.email, as_json, {"id": user.id, "email": user.email})
        await until_applied(tools.store)
