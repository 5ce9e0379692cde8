"""`domogate init`: creates the first operator, with a one-time link instead of a default password."""

import sys
from typing import Annotated

from domogate.app import find_missing_file
from domogate.cli._command import WrongUsage, changing, command, top_level
from domogate.cli._links import LINK_FLAGS, tell_assumed_address, tell_link
from domogate.cli._options import option
from domogate.cli._output import AsJson, note
from domogate.cli._questions import ask_email
from domogate.settings import Settings

commands = top_level()


@command(commands, "init", flags=LINK_FLAGS)
async def init(
    settings: Settings,
    email: Annotated[str | None, option("EMAIL", "E-mail of the operator. Default: the command asks for it.")] = None,
    name: Annotated[str, option("NAME", "Name of the operator. Default: empty.")] = "",
    as_json: AsJson = False,
) -> None:
    """Create the first operator and print a link to set the password. Refused if an operator already exists."""
    if email is None:
        if not sys.stdin.isatty():
            raise WrongUsage("name the first operator: --email EMAIL.")
        email = ask_email("E-mail of the first operator")
    new = find_missing_file(settings) is not None
    place = "a database on a server" if settings.database else f"the folder {settings.data.absolute()}{', which is new' * new}"
    async with changing(settings, create=True) as tools:
        user, link = await tools.people.create_first_operator(email.strip(), name)
        note(f"Created the first operator in {place}. --data DIR or --database URL names another gateway.")
        tell_assumed_address(tools)
        if tools.address_is_known:
            note(f"The address of the gateway is {tools.settings.base_url}. --public-url URL names another one.")
        advice = "Open this link in a browser to set your password; the set-up continues there."
        if not tools.address_is_known:
            start = "domogate serve" if settings.database else f"domogate serve --data {settings.data}"
            advice = f"Start the gateway with `{start}`. Then open this link in a browser to set your password."
        tell_link(link, user.email, as_json, {"id": user.id, "email": user.email}, advice=advice)
