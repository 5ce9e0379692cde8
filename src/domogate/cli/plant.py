"""`domogate plant …`: whether plants are served, and who is in them. What stands in them is the estate file's matter."""

from typing import Any

import typer

from domogate.app import open_tools
from domogate.cli._command import command, until_applied
from domogate.cli._output import AsJson, iso, note, print_json, print_table
from domogate.cli._people import LINK_FLAGS, Email, PlantName, ShowLink, find_plant, find_user, list_plants, tell_link
from domogate.cli._ready import at_noted_address
from domogate.domain.plants import Plant
from domogate.settings import Settings

plants = typer.Typer(help="Plants: list, show, who is in them, remove, restore.", no_args_is_help=True)


def register(cli: typer.Typer) -> None:
    cli.add_typer(plants, name="plant")


@command(plants, "list")
async def list_all(settings: Settings, as_json: AsJson = False) -> None:
    """List the plants, removed ones too."""
    async with open_tools(settings) as tools:
        found = sorted(await list_plants(tools), key=lambda plant: (plant.name, plant.id))
    if as_json:
        print_json([_shown(plant) for plant in found])
        return
    rows = [
        (one.name, one.type, one.status, one.owner.email, str(len(one.allowed)), str(len(one.invited)), one.id) for one in found
    ]
    print_table(("name", "type", "status", "owner", "allowed", "invited", "id"), rows)


@command(plants, "show")
async def show(settings: Settings, plant: PlantName, as_json: AsJson = False) -> None:
    """Show a plant and who is in it."""
    async with open_tools(settings) as tools:
        found = await find_plant(tools, plant)
    if as_json:
        print_json(_shown(found))
        return
    removed = f" since {iso(found.removed_at)}" if found.removed_at is not None else ""
    typer.echo(f"{found.name}, {found.type}, {found.status}{removed}\nid {found.id}\nowner: {found.owner.email}")
    typer.echo(f"allowed: {', '.join(member.email for member in found.allowed) or 'nobody'}")
    typer.echo(f"invited: {', '.join(invitation.email for invitation in found.invited) or 'nobody'}")


@command(plants, "invite", flags=LINK_FLAGS)
async def invite(
    settings: Settings, plant: PlantName, email: Email, show_link: ShowLink = False, as_json: AsJson = False
) -> None:
    """Invite somebody. Who is active is in at once; others get a link by which they become so."""
    async with open_tools(at_noted_address(settings)) as tools:
        found = await find_plant(tools, plant)
        invited = await tools.people.invite(found.id, email, show_link=show_link)
        if invited.link is not None:
            tell_link(invited.link, email, as_json, {"outcome": invited.outcome})
        elif as_json:
            print_json({"outcome": invited.outcome, "link": None, "mailed": False, "expires_at": None})
        else:
            note(f"{email} is in {found.name} now.")
        await until_applied(tools.store)


@command(plants, "withdraw")
async def withdraw(settings: Settings, plant: PlantName, email: Email) -> None:
    """Withdraw somebody's right on a plant, or their invitation to it. It counts from their next request on."""
    async with open_tools(settings) as tools:
        found = await find_plant(tools, plant)
        await tools.people.withdraw(found.id, email)
        await until_applied(tools.store)
        note(f"{email} has no right on {found.name} any more.")


@command(plants, "allow")
async def allow(settings: Settings, plant: PlantName, email: Email) -> None:
    """Let a user into a plant."""
    async with open_tools(settings) as tools:
        found, user = await find_plant(tools, plant), await find_user(tools, email)
        await tools.people.allow(found.id, user.id)
        await until_applied(tools.store)
        note(f"{user.email} is in {found.name} now.")


@command(plants, "remove")
async def remove(settings: Settings, plant: PlantName) -> None:
    """Remove a plant: it is listed as removed for a while, and answers 404. `plant restore` brings it back."""
    async with open_tools(settings) as tools:
        found = await find_plant(tools, plant)
        await tools.people.remove_plant(found.id)
        await until_applied(tools.store)
        note(f"Removed {found.name}.")


@command(plants, "restore")
async def restore(settings: Settings, plant: PlantName) -> None:
    """Bring a removed plant back: nothing of it was lost."""
    async with open_tools(settings) as tools:
        found = await find_plant(tools, plant)
        await tools.people.restore_plant(found.id)
        await until_applied(tools.store)
        note(f"Restored {found.name}.")


def _shown(plant: Plant) -> dict[str, Any]:
    return {
        "id": plant.id,
        "name": plant.name,
        "type": plant.type,
        "status": plant.status,
        "removed_at": iso(plant.removed_at),
        "owner": plant.owner.email,
        "allowed": [member.email for member in plant.allowed],
        "invited": [invitation.email for invitation in plant.invited],
    }
