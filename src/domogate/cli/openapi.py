"""`domogate openapi`: each family's OpenAPI 3.1 document, as the gateway serves it under /openapi/."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from domogate.app import openapi_document
from domogate.cli._command import Mistake, WrongUsage, command
from domogate.cli._output import note
from domogate.families import FAMILIES
from domogate.settings import Settings

commands = typer.Typer()


@command(commands, "openapi", flags=("public_url",))
async def print_openapi(
    settings: Settings,
    family: Annotated[
        str | None, typer.Argument(metavar="FAMILY", help="First segment of the family's paths, for example homeauto.")
    ] = None,
    everything: Annotated[
        Path | None, typer.Option("--all", metavar="DIR", help="Write the documents of all families into this folder.")
    ] = None,
) -> None:
    """Print the OpenAPI 3.1 document of a family, or write the documents of all families."""
    known = [one.slug for one in FAMILIES]
    if (family is None) == (everything is None):
        raise WrongUsage(f"name one family, or add --all DIR; the families are: {', '.join(known)}.")
    if family is not None:
        if family not in known:
            raise Mistake(f"there is no family {family!r}; the families are: {', '.join(known)}.")
        typer.echo(_text(family, settings))
    if everything is not None:
        everything.mkdir(parents=True, exist_ok=True)
        for name in known:
            (everything / f"{name}.json").write_text(_text(name, settings) + "\n", encoding="utf-8")
        note(f"Wrote {len(known)} documents to {everything}.")


def _text(family: str, settings: Settings) -> str:
    document = openapi_document(family, settings)
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
