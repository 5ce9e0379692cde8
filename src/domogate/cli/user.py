"""`domogate user …`: who is known, and what the companion application still wants of them (469, 470)."""

from enum import StrEnum
from typing import Annotated

import msgspec
import typer

from domogate.app import open_tools
from domogate.cli._command import Mistake, command, until_applied
from domogate.cli._output import AsJson, note, print_json, print_table
from domogate.domain.people import Standing
from domogate.settings import Settings

users = typer.Typer(help="Users: list them, set their standing.", no_args_is_help=True)


class StandingWord(StrEnum):
    """A Standing as one word of a command line."""

    GOOD = "good"
    PASSWORD_EXPIRED = "password-expired"
    TERMS_EXPIRED = "terms-expired"
    BOTH_EXPIRED = "both-expired"


def register(cli: typer.Typer) -> None:
    cli.add_typer(users, name="user")


@command(users, "list")
async def list_users(settings: Settings, as_json: AsJson = False) -> None:
    """List the users."""
    async with open_tools(settings) as tools:
        found = sorted(await tools.store.list_users(), key=lambda user: user.email)
    if as_json:
        print_json(
            [
                {"id": user.id, "email": user.email, "name": user.name, "active": user.active, "standing": user.standing}
                for user in found
            ]
        )
        return
    rows = [(user.email, user.name, "active" if user.active else "not active yet", user.standing, user.id) for user in found]
    print_table(("email", "name", "state", "standing", "id"), rows)


@command(users, "standing")
async def set_standing(
    settings: Settings,
    email: Annotated[str, typer.Argument(help="The user's e-mail.")],
    standing: Annotated[StandingWord, typer.Argument(help="What the companion application still wants of them.")],
) -> None:
    """Set a user's standing, so that 469 (password to be renewed) and 470 (terms to be accepted) can be shown."""
    async with open_tools(settings) as tools:
        user = await tools.store.find_user_by_email(email)
        if user is None:
            raise Mistake(f"there is no user {email!r}; `domogate user list` shows all.")
        await tools.store.save_user(msgspec.structs.replace(user, standing=Standing[standing.name]))
        await until_applied(tools.store)
        note(f"The standing of {user.email} is now: {Standing[standing.name]}.")
