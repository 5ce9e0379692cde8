"""One-time links to set a password, as commands show them."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Annotated

import click

from domogate.app import Tools
from domogate.cli._command import changing
from domogate.cli._flags import WHERE
from domogate.cli._options import flag
from domogate.cli._output import iso, note, print_json
from domogate.services.people import IssuedLink
from domogate.settings import Settings

LINK_FLAGS = (*WHERE, "public_url")
"""The flags of a command that makes a link. The link begins with the URL of the gateway (`public_url`)."""

ShowLink = Annotated[bool, flag("--show-link", "Print the link and send no mail, even if a mail server is configured.")]


@asynccontextmanager
async def with_address(settings: Settings) -> AsyncIterator[Tools]:
    """Yield the store and the services (`Tools`) for a command that prints a link or a token.

    If the URL of the gateway is not known, print a note that says which URL is assumed.
    """
    async with changing(settings) as tools:
        tell_assumed_address(tools)
        yield tools


def tell_assumed_address(tools: Tools) -> None:
    if not tools.address_is_known:
        note(
            f"No gateway has run on this data yet, so the address {tools.settings.base_url} is assumed.\n"
            "If clients use another address, name it with --public-url URL, or set public_url."
        )


def tell_link(
    link: IssuedLink, email: str, as_json: bool, more: Mapping[str, object] | None = None, *, advice: str | None = None
) -> None:
    """Print the link on standard output. If the link was mailed, it is not printed; a note on standard error says this.

    If `as_json` is true, always print a JSON object; its field `link` is null if the link was mailed. The store keeps only
    the hash of the link, so the link cannot be shown again.
    """
    if as_json:
        print_json({**(more or {}), "link": link.url, "mailed": link.mailed, "expires_at": iso(link.expires_at)})
    elif link.url is None:
        note(f"A link to set the password was mailed to {email}.")
    else:
        click.echo(link.url)
        first = advice or f"Send this link to {email}."
        note(f"{first} It sets the password once, until {iso(link.expires_at)}. It is not shown again.")
