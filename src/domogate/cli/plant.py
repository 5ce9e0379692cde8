"""`domogate plant …`: lists, removes and restores plants, and changes who may use them.

The estate file says what is in a plant.
"""

from typing import Any

import click

from domogate.cli._command import changing, command, group, reading
from domogate.cli._guests import GuestFlags, describe_limits, limits_as_json, read_limits
from domogate.cli._links import LINK_FLAGS, ShowLink, tell_link, with_address
from domogate.cli._names import Email, PlantName, find_plant, find_user, list_plants
from domogate.cli._output import AsJson, iso, note, print_fields, print_json, print_list
from domogate.domain.plants import Invitation, Member, Plant, Topology
from domogate.settings import Settings

commands = group("plant")


@command(commands, "list")
async def list_all(settings: Settings, as_json: AsJson = False) -> None:
    """List all plants, including removed plants."""
    async with reading(settings) as tools:
        found = sorted(await list_plants(tools), key=lambda plant: (plant.name, plant.id))
    rows = (
        (one.name, one.type, one.status, one.owner.email, str(len(one.allowed)), str(len(one.invited)), one.id) for one in found
    )
    columns = ("name", "type", "status", "owner", "allowed", "invited", "id")
    print_list(as_json, [_shown(plant) for plant in found], columns, rows)


@command(commands, "show")
async def show(settings: Settings, plant: PlantName, as_json: AsJson = False) -> None:
    """Show a plant and who may use it."""
    async with reading(settings) as tools:
        found = await find_plant(tools, plant)
        stored = await tools.store.find_plant(found.id)
    topology = Topology() if stored is None else stored.topology
    if as_json:
        print_json(_shown(found))
        return
    removed = f" since {iso(found.removed_at)}" if found.removed_at is not None else ""
    click.echo(f"{found.name}, {found.type}, {found.status}{removed}\nid {found.id}\nowner: {found.owner.email}")
    print_fields(
        (
            ("allowed", ", ".join(one.email + describe_limits(one.limits, topology) for one in found.allowed)),
            ("invited", ", ".join(one.email + describe_limits(one.limits, topology) for one in found.invited)),
        )
    )


@command(commands, "invite", flags=LINK_FLAGS)
async def invite(
    settings: Settings, plant: PlantName, email: Email, guest: GuestFlags, show_link: ShowLink = False, as_json: AsJson = False
) -> None:
    """Invite a person to a plant. An active user gets access at once. Other people get a link to set a password first.

    If a mail server is configured, the link is mailed, except with --show-link. Otherwise it is printed. The other flags limit
    a guest to some places and to a period.

    Example: `domogate plant invite "Hotel Sole" guest@example.com --room 203 --until 2036-11-22`
    """
    async with with_address(settings) as tools:
        found = await find_plant(tools, plant)
        limits, described = await read_limits(tools, found, guest)
        invited = await tools.people.invite(found.id, email, limits=limits, show_link=show_link)
        if invited.link is not None:
            if not as_json:
                note(f"{email} is invited to {found.name}{described}.")
            tell_link(invited.link, email, as_json, {"outcome": invited.outcome})
        elif as_json:
            print_json({"outcome": invited.outcome, "link": None, "mailed": False, "expires_at": None})
        else:
            note(f"{email} now has access to {found.name}{described}.")


@command(commands, "withdraw")
async def withdraw(settings: Settings, plant: PlantName, email: Email) -> None:
    """Withdraw a person's access to a plant, or an invitation. The change takes effect with the person's next request."""
    async with changing(settings) as tools:
        found = await find_plant(tools, plant)
        await tools.people.withdraw(found.id, email)
    note(f"{email} no longer has access to {found.name}.")


@command(commands, "allow")
async def allow(settings: Settings, plant: PlantName, email: Email, guest: GuestFlags) -> None:
    """Give a user access to a plant. The flags limit a guest to some places and to a period."""
    async with changing(settings) as tools:
        found, user = await find_plant(tools, plant), await find_user(tools, email)
        limits, described = await read_limits(tools, found, guest)
        await tools.people.allow(found.id, user.id, limits=limits)
    note(f"{user.email} now has access to {found.name}{described}.")


@command(commands, "limit")
async def limit(settings: Settings, plant: PlantName, email: Email, guest: GuestFlags) -> None:
    """Replace the limits of a person who has access to a plant or is invited to it.

    Without flags the person may use all of the plant at any time.
    """
    async with changing(settings) as tools:
        found = await find_plant(tools, plant)
        limits, described = await read_limits(tools, found, guest)
        await tools.people.limit(found.id, email, limits)
    note(f"The limits of {email} in {found.name} are changed{described}.")


@command(commands, "remove")
async def remove(settings: Settings, plant: PlantName) -> None:
    """Remove a plant.

    E6 lists it as removed for 30 days (setting `removed_plants_kept_days`). For all other operations the plant does not exist.
    `plant restore` brings it back.
    """
    async with changing(settings) as tools:
        found = await find_plant(tools, plant)
        await tools.people.remove_plant(found.id)
    note(f"Removed {found.name}. `domogate plant restore` brings it back.")


@command(commands, "restore")
async def restore(settings: Settings, plant: PlantName) -> None:
    """Bring back a removed plant, with everything in it."""
    async with changing(settings) as tools:
        found = await find_plant(tools, plant)
        await tools.people.restore_plant(found.id)
    note(f"Restored {found.name}.")


def _shown(plant: Plant) -> dict[str, Any]:
    people: list[Member | Invitation] = [*plant.allowed, *plant.invited]
    return {
        "id": plant.id,
        "name": plant.name,
        "type": plant.type,
        "status": plant.status,
        "removed_at": iso(plant.removed_at),
        "owner": plant.owner.email,
        "allowed": [member.email for member in plant.allowed],
        "invited": [invitation.email for invitation in plant.invited],
        "limits": {one.email: limits_as_json(one.limits) for one in people if one.limits is not None},
    }
