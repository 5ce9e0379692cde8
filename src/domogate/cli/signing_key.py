"""`domogate signing-key …`: the keys that tokens and tickets are signed with, and their rotation."""

from typing import Annotated

import typer

from domogate.app import open_tools, rotate_signing_keys
from domogate.cli._command import command, until_applied
from domogate.cli._output import AsJson, iso, note, print_json, print_table
from domogate.cli._people import Yes, confirm
from domogate.services.audit.log import AuditAction
from domogate.services.people.people import COMMAND_LINE
from domogate.settings import Settings

signing_keys = typer.Typer(help="Signing keys: list, rotate.", no_args_is_help=True)


def register(cli: typer.Typer) -> None:
    cli.add_typer(signing_keys, name="signing-key")


@command(signing_keys, "list")
async def list_keys(settings: Settings, as_json: AsJson = False) -> None:
    """List the signing keys and where each is in the rotation, without anything private."""
    async with open_tools(settings) as tools:
        places = await tools.signing_keys.list_places()
    shown = [
        {
            "kid": place.kid,
            "algorithm": place.algorithm,
            "state": place.state,
            "signs_from": iso(place.signs_from),
            "retired_at": iso(place.retired_at),
        }
        for place in places
    ]
    if as_json:
        print_json(shown)
        return
    columns = ("kid", "algorithm", "state", "signs_from", "retired_at")
    print_table(
        [column.replace("_", " ") for column in columns], [[str(row[column] or "-") for column in columns] for row in shown]
    )


@command(signing_keys, "rotate", flags=("data", "database", "signing_algorithm"))
async def rotate(
    settings: Settings,
    emergency: Annotated[
        bool, typer.Option("--emergency", help="A key is in wrong hands: sign with a new one at once and trust no other.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Publish the next key. It signs once everybody had time to fetch it; tokens signed before stay good until they expire.

    With --emergency every token in the field is refused from the next request on.
    """
    if emergency:
        confirm("Refuse every token that was ever signed, so that everybody has to log in or refresh?", yes)
    async with open_tools(settings) as tools:
        rotation = await rotate_signing_keys(tools, now=emergency)
        tools.people.note(
            AuditAction.SIGNING_KEYS_ROTATED,
            COMMAND_LINE,
            f"signing key:{rotation.kid}",
            emergency="yes" if emergency else "no",
        )
        if as_json:
            print_json(
                {
                    "kid": rotation.kid,
                    "algorithm": rotation.algorithm,
                    "signs_from": iso(rotation.signs_from),
                    "retired": rotation.retired,
                    "distrusted": rotation.distrusted,
                }
            )
        else:
            note(f"The new key {rotation.kid} ({rotation.algorithm}) is published and signs from {iso(rotation.signs_from)}.")
        await until_applied(tools.store)
