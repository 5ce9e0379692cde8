"""`domogate openapi`: the OpenAPI 3.1 documents that the gateway lists under /openapi."""

from pathlib import Path
from typing import Annotated

import click
import msgspec

from domogate.cli._command import Mistake, WrongUsage, command, top_level
from domogate.cli._options import argument, option
from domogate.cli._output import note
from domogate.settings import Settings

commands = top_level()


@command(commands, "openapi", flags=("public_url",))
async def print_openapi(
    settings: Settings,
    name: Annotated[
        str | None,
        argument(
            "NAME",
            "First segment of a family's paths, such as homeauto; or home, events, webhooks, tickets, developer, management.",
        ),
    ] = None,
    everything: Annotated[Path | None, option("DIR", "Write all documents into this folder.", "--all")] = None,
) -> None:
    """Print one OpenAPI 3.1 document, or write all documents."""
    from domogate.app.documents import DOCUMENTS

    known = ", ".join(DOCUMENTS)
    if (name is None) == (everything is None):
        raise WrongUsage(f"name one document, or add --all DIR; the documents are: {known}.")
    if name is not None:
        if name not in DOCUMENTS:
            raise Mistake(f"there is no document {name!r}; the documents are: {known}.")
        click.echo(_text(name, settings))
    if everything is not None:
        everything.mkdir(parents=True, exist_ok=True)
        for each in DOCUMENTS:
            (everything / f"{each}.json").write_text(_text(each, settings) + "\n", encoding="utf-8")
        note(f"Wrote {len(DOCUMENTS)} documents to {everything}.")


def _text(name: str, settings: Settings) -> str:
    from domogate.app.documents import openapi_document

    return msgspec.json.format(msgspec.json.encode(openapi_document(name, settings)), indent=2).decode()
