"""`domogate user …`: who is known, what they may, and how they get in."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from domogate.app import Tools, open_tools
from domogate.cli._command import command, until_applied
from domogate.cli._output import AsJson, iso, note, print_json, print_table
from domogate.cli._people import LINK_FLAGS, Email, ShowLink, Yes, confirm, find_user, tell_link
from domogate.cli._ready import at_noted_address
from domogate.domain.people import Standing, User
from domogate.settings import Settings

users = typer.Typer(help="Users: add, list, show, change, delete.", no_args_is_help=True)


class StandingWord(StrEnum):
    """A Standing as one word of a command line."""

    GOOD = "good"
    PASSWORD_EXPIRED = "password-expired"
    TERMS_EXPIRED = "terms-expired"
    BOTH_EXPIRED = "both-expired"


class YesOrNo(StrEnum):
    YES = "yes"
    NO = "no"


def register(cli: typer.Typer) -> None:
    cli.add_typer(users, name="user")


@command(users, "add", flags=LINK_FLAGS)
async def add_user(
    settings: Settings,
    email: Email,
    name: Annotated[str, typer.Option(metavar="NAME", help="What they are called.")] = "",
    operator: Annotated[bool, typer.Option("--operator", help="They may use the management API.")] = False,
    show_link: ShowLink = False,
    as_json: AsJson = False,
) -> None:
    """Add a user, who sets their password by a one-time link: it is printed, or mailed where there is a mail server."""
    async with open_tools(at_noted_address(settings)) as tools:
        user, link = await tools.people.create_user(email, name, operator=operator, show_link=show_link)
        tell_link(link, user.email, as_json, _shown(user))
        await until_applied(tools.store)


@command(users, "list")
async def list_users(settings: Settings, as_json: AsJson = False) -> None:
    """List the users."""
    async with open_tools(settings) as tools:
        found = sorted(await tools.store.list_users(), key=lambda user: user.email)
    if as_json:
        print_json([_shown(user) for user in found])
        return
    rows = [(user.email, user.name, _state(user), user.standing, "yes" if user.operator else "-", user.id) for user in found]
    print_table(("email", "name", "state", "standing", "operator", "id"), rows)


@command(users, "show")
async def show_user(settings: Settings, email: Email, as_json: AsJson = False) -> None:
    """Show a user with their plants, the applications they let in, and where they are logged in."""
    async with open_tools(settings) as tools:
        told = await _described(tools, await find_user(tools, email))
    if as_json:
        print_json(told)
        return
    typer.echo(f"{told['email']}  {told['name']}\nid {told['id']}")
    state = "active" if told["active"] else "not active yet"
    typer.echo(f"{state}, standing: {told['standing']}, operator: {_word(told['operator'])}, "
               f"second factor: {_word(told['second_factor'])}")  # fmt: skip
    for title, rows in (("plants", told["plants"]), ("applications", told["grants"]), ("sessions", told["sessions"])):
        typer.echo(f"\n{title}: {len(rows) or 'none'}")
        if rows:
            columns = list(rows[0])
            print_table([column.replace("_", " ") for column in columns], [[str(row[key]) for key in columns] for row in rows])


@command(users, "standing")
async def set_standing(
    settings: Settings,
    email: Email,
    standing: Annotated[StandingWord, typer.Argument(help="What the companion application still wants of them.")],
) -> None:
    """Set a user's standing, so that 469 (password to be renewed) and 470 (terms to be accepted) can be shown."""
    async with open_tools(settings) as tools:
        user = await find_user(tools, email)
        await tools.people.set_standing(user.id, Standing[standing.name])
        await until_applied(tools.store)
        note(f"The standing of {user.email} is now: {Standing[standing.name]}.")


@command(users, "password-link", flags=LINK_FLAGS)
async def issue_link(settings: Settings, email: Email, show_link: ShowLink = False, as_json: AsJson = False) -> None:
    """Make a link by which a user sets a new password; former links open nothing any more."""
    async with open_tools(at_noted_address(settings)) as tools:
        user = await find_user(tools, email)
        tell_link(await tools.people.issue_password_link(user.id, show_link=show_link), user.email, as_json)
        await until_applied(tools.store)


@command(users, "operator")
async def set_operator(
    settings: Settings,
    email: Email,
    operator: Annotated[YesOrNo, typer.Argument(help="Whether they may use the management API.")] = YesOrNo.YES,
) -> None:
    """Make a user an operator, or let them be one no longer. The last one stays."""
    async with open_tools(settings) as tools:
        user = await find_user(tools, email)
        await tools.people.set_operator(user.id, operator is YesOrNo.YES)
        await until_applied(tools.store)
        note(f"{user.email} is {'an' if operator is YesOrNo.YES else 'no'} operator now.")


@command(users, "second-factor-reset")
async def reset_second_factor(settings: Settings, email: Email) -> None:
    """Take the second factor away from somebody who lost it. They are logged out, and log in with the password alone."""
    async with open_tools(settings) as tools:
        user = await find_user(tools, email)
        await tools.people.reset_second_factor(user.id)
        await until_applied(tools.store)
        note(f"{user.email} has no second factor any more.")


@command(users, "logout")
async def log_out(
    settings: Settings,
    email: Email,
    applications: Annotated[bool, typer.Option("--applications", help="Throw all applications out, too.")] = False,
) -> None:
    """Log a user out of every browser; with --applications, every token of theirs is refused from the next request on."""
    async with open_tools(settings) as tools:
        user = await find_user(tools, email)
        ended = await tools.people.end_sessions(user.id)
        revoked = await tools.people.revoke_grants(user.id) if applications else 0
        await until_applied(tools.store)
        note(f"{user.email}: ended {ended} sessions, revoked {revoked} grants.")


@command(users, "delete")
async def delete_user(settings: Settings, email: Email, yes: Yes = False) -> None:
    """Delete a user with everything of theirs. Refused while they own plants."""
    async with open_tools(settings) as tools:
        user = await find_user(tools, email)
        confirm(f"Delete {user.email} with their sessions, applications and memberships?", yes)
        await tools.people.delete_user(user.id)
        await until_applied(tools.store)
        note(f"Deleted {user.email}.")


def _shown(user: User) -> dict[str, Any]:
    return {
        "id": user.id,
        "email": user.email,
        "name": user.name,
        "active": user.active,
        "standing": user.standing,
        "operator": user.operator,
        "second_factor": user.totp_secret is not None,
    }


async def _described(tools: Tools, user: User) -> dict[str, Any]:
    plants, _ = await tools.store.list_plants_of(user.id)
    return {
        **_shown(user),
        "plants": [
            {"id": one.id, "name": one.name, "status": one.status, "as": "owner" if one.owner.user_id == user.id else "allowed"}
            for one in plants
        ],
        "grants": [
            {"id": one.id, "client": one.client_id, "scopes": " ".join(one.scopes), "since": iso(one.created_at)}
            for one in await tools.store.list_grants(user.id)
        ],
        "sessions": [
            {"id": one.id, "seen": iso(one.seen_at), "address": one.address, "agent": one.agent}
            for one in await tools.store.list_sessions(user.id)
        ],
    }


def _state(user: User) -> str:
    return "active" if user.active else "not active yet"


def _word(value: bool) -> str:
    return "yes" if value else "no"
