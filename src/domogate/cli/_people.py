"""How commands name people and plants, show what came of it, and ask before they delete."""

import sys
from collections.abc import Mapping
from typing import Annotated

import typer

from domogate.app import Tools
from domogate.cli._command import Mistake, WrongUsage
from domogate.cli._flags import WHERE
from domogate.cli._output import iso, note, print_json
from domogate.domain.ids import DASHED_UUID, HEX32
from domogate.domain.people import User
from domogate.domain.plants import Plant
from domogate.services.people.people import IssuedLink

LINK_FLAGS = (*WHERE, "public_url")
"""What a command that makes a link takes: the address of the gateway is part of it."""

Email = Annotated[str, typer.Argument(metavar="EMAIL", help="The user's e-mail.")]
PlantName = Annotated[str, typer.Argument(metavar="PLANT", help="Its id in either spelling, or its name if no other has it.")]
ShowLink = Annotated[bool, typer.Option("--show-link", help="Print the link although there is a mail server.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask; for scripts.")]

_PAGE = 500


async def find_user(tools: Tools, email: str) -> User:
    user = await tools.store.find_user_by_email(email)
    if user is None:
        raise Mistake(f"there is no user {email!r}; `domogate user list` shows all.")
    return user


async def list_plants(tools: Tools) -> list[Plant]:
    found: list[Plant] = []
    while page := await tools.store.list_plants(found[-1].id if found else None, _PAGE):
        found += page
    return found


async def find_plant(tools: Tools, wanted: str) -> Plant:
    identity = DASHED_UUID.parse_id(wanted) or HEX32.parse_id(wanted)
    if identity is not None and (stored := await tools.store.find_plant(identity)) is not None:
        return stored.plant
    matching = [plant for plant in await list_plants(tools) if plant.name == wanted]
    if not matching:
        raise Mistake(f"there is no plant {wanted!r}; `domogate plant list` shows all.")
    if len(matching) > 1:
        listed = "\n".join(f"  {plant.id}  of {plant.owner.email}" for plant in matching[:20])
        raise Mistake(f"several plants are called {wanted!r}; say which by id:\n{listed}")
    return matching[0]


def shown_link(link: IssuedLink) -> dict[str, str | bool | None]:
    return {"link": link.url, "mailed": link.mailed, "expires_at": iso(link.expires_at)}


def tell_link(link: IssuedLink, email: str, as_json: bool, told: Mapping[str, object] | None = None) -> None:
    """The link alone on standard output; it is not kept, so this is the one time that it is seen."""
    if as_json:
        print_json({**(told or {}), **shown_link(link)})
        return
    if link.url is None:
        note(f"A link to set the password is on its way to {email}.")
        return
    typer.echo(link.url)
    note(f"For {email}: the link sets their password, once, until {iso(link.expires_at)}. It will not be shown again.")


def confirm(question: str, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise WrongUsage(f"{question} Nobody is there to be asked: say --yes.")
    if not typer.confirm(question, err=True):
        raise Mistake("nothing is changed.")
