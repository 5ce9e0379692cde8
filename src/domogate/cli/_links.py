"""One-time links to set a password, as commands show them."""

from collections.abc import Mapping
from typing import Annotated

import typer

from domogate.cli._flags import WHERE
from domogate.cli._output import iso, note, print_json
from domogate.services.people import IssuedLink

LINK_FLAGS = (*WHERE, "public_url")
"""Flags of a command that makes a link: the gateway's address is part of the link."""

ShowLink = Annotated[bool, typer.Option("--show-link", help="Print the link even where a mail server is set.")]


def tell_link(link: IssuedLink, email: str, as_json: bool, more: Mapping[str, object] | None = None) -> None:
    """Print the link alone on standard output. The store keeps only a hash, so it is shown this one time."""
    if as_json:
        print_json({**(more or {}), "link": link.url, "mailed": link.mailed, "expires_at": iso(link.expires_at)})
    elif link.url is None:
        note(f"A link to set the password was mailed to {email}.")
    else:
        typer.echo(link.url)
        note(f"Send this link to {email}. It sets the password, once, until {iso(link.expires_at)}. It is not shown again.")
