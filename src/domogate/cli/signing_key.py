"""`domogate signing-key …`: the keys that sign tokens and tickets, and their rotation."""

from typing import Annotated, Any

from domogate.app import rotate_signing_keys
from domogate.cli._command import Yes, changing, command, confirm, group, reading
from domogate.cli._flags import WHERE
from domogate.cli._options import flag
from domogate.cli._output import AsJson, iso, note, print_json, print_records
from domogate.services.audit import AuditAction
from domogate.services.people import COMMAND_LINE
from domogate.settings import Settings

commands = group("signing-key")


@command(commands, "list")
async def list_keys(settings: Settings, as_json: AsJson = False) -> None:
    """List the signing keys and their state in the rotation, without private parts."""
    async with reading(settings) as tools:
        await tools.open_signer()
        places = await tools.signing_keys.list_places()
    shown: list[dict[str, Any]] = [
        {
            "kid": place.kid,
            "algorithm": place.algorithm,
            "state": place.state,
            "signs_from": iso(place.signs_from),
            "retired_at": iso(place.retired_at),
        }
        for place in places
    ]
    print_records(as_json, shown, ("kid", "algorithm", "state", "signs_from", "retired_at"))


@command(commands, "rotate", flags=(*WHERE, "signing_algorithm"))
async def rotate(
    settings: Settings,
    emergency: Annotated[
        bool, flag("--emergency", "For a stolen key: sign with a new key at once and distrust all other keys.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Publish the next key. It signs after ten minutes, when other servers have fetched it. Existing tokens stay valid.

    With --emergency, all existing access tokens, id tokens and tickets are refused from now on. Refresh tokens stay valid.
    """
    if emergency:
        confirm("Refuse every token that was ever signed? Applications must refresh and people may have to log in again.", yes)
    async with changing(settings) as tools:
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
