"""`domogate client …`: the applications that people can let in."""

from typing import Annotated, Any

import msgspec
import typer

from domogate.app import open_tools
from domogate.cli._command import Mistake, command, until_applied
from domogate.cli._output import AsJson, note, print_json, print_table
from domogate.cli._people import Yes, confirm
from domogate.domain.people import Client, GrantType
from domogate.ports import Store
from domogate.settings import Settings

clients = typer.Typer(help="Applications: register, list, show, new secret, delete.", no_args_is_help=True)

ClientId = Annotated[str, typer.Argument(metavar="ID", help="The client's id.")]
_LOGIN = (GrantType.AUTHORIZATION_CODE, GrantType.REFRESH_TOKEN)


def register(cli: typer.Typer) -> None:
    cli.add_typer(clients, name="client")


@command(clients, "add")
async def add_client(
    settings: Settings,
    client_id: Annotated[str, typer.Argument(metavar="ID", help="How it names itself; without spaces.")],
    name: Annotated[str | None, typer.Option(metavar="NAME", help="What people read when they are asked; else its id.")] = None,
    redirect_uri: Annotated[
        list[str] | None, typer.Option(metavar="URI", help="Where people come back to; again for each. Compared exactly.")
    ] = None,
    post_logout_redirect_uri: Annotated[
        list[str] | None, typer.Option(metavar="URI", help="Where they may come back to after a logout; again for each.")
    ] = None,
    origin: Annotated[list[str] | None, typer.Option(metavar="ORIGIN", help="A web origin that may call (CORS).")] = None,
    scope: Annotated[list[str] | None, typer.Option(metavar="SCOPE", help="What it may ask for; again for each.")] = None,
    grant: Annotated[
        list[GrantType] | None, typer.Option(help="How it is let in; authorization_code and refresh_token by default.")
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="It cannot keep a secret: it runs in a browser or on a phone.")
    ] = False,
    access_token_everywhere: Annotated[
        bool, typer.Option("--access-token-everywhere", help="Its access token opens the families that want an id token, too.")
    ] = False,
    pkce_exempt: Annotated[bool, typer.Option("--pkce-exempt", help="A confidential client of the past without PKCE.")] = False,
    as_json: AsJson = False,
) -> None:
    """Register an application and print its secret, this one time. Without a redirect URI it is for tokens you issue."""
    client = Client(
        id=client_id,
        name=client_id if name is None else name,
        redirect_uris=tuple(redirect_uri or ()),
        origins=tuple(origin or ()),
        grants=tuple(grant or (_LOGIN if redirect_uri else ())),
        scopes=tuple(dict.fromkeys(word for text in scope or () for word in text.split())),
        access_token_everywhere=access_token_everywhere,
        pkce_exempt=pkce_exempt,
        post_logout_redirect_uris=tuple(post_logout_redirect_uri or ()),
    )
    async with open_tools(settings) as tools:
        added, secret = await tools.people.clients.add(client, confidential=not public)
        _tell_secret(added, secret, as_json)
        if not added.grants:
            note("It has no redirect URI, so nobody can log in with it: `domogate token issue` makes its tokens.")
        await until_applied(tools.store)


@command(clients, "list")
async def list_clients(settings: Settings, as_json: AsJson = False) -> None:
    """List the applications."""
    async with open_tools(settings) as tools:
        found = await tools.store.list_clients()
    if as_json:
        print_json([_shown(client) for client in found])
        return
    rows = [
        (client.id, client.name, "confidential" if client.confidential else "public", " ".join(client.scopes) or "-")
        for client in found
    ]
    print_table(("id", "name", "kind", "scopes"), rows)


@command(clients, "show")
async def show_client(settings: Settings, client_id: ClientId, as_json: AsJson = False) -> None:
    """Show an application, without its secret: that is not kept."""
    async with open_tools(settings) as tools:
        told = _shown(await _find(tools.store, client_id))
    if as_json:
        print_json(told)
        return
    for field, value in told.items():
        if isinstance(value, bool):
            shown = "yes" if value else "no"
        else:
            shown = value if isinstance(value, str) else " ".join(value) or "-"
        typer.echo(f"{field.replace('_', ' ')}: {shown}")


@command(clients, "rotate-secret")
async def rotate_secret(settings: Settings, client_id: ClientId, as_json: AsJson = False) -> None:
    """Give an application a new secret and print it, this one time. The old one is refused from now on."""
    async with open_tools(settings) as tools:
        client = await _find(tools.store, client_id)
        _tell_secret(client, await tools.people.clients.rotate_secret(client_id), as_json)
        await until_applied(tools.store)


@command(clients, "delete")
async def delete_client(settings: Settings, client_id: ClientId, yes: Yes = False) -> None:
    """Delete an application with everything that people granted to it."""
    async with open_tools(settings) as tools:
        client = await _find(tools.store, client_id)
        confirm(f"Delete {client.name} ({client.id}) with everything that people granted to it?", yes)
        await tools.people.clients.delete(client.id)
        await until_applied(tools.store)
        note(f"Deleted {client.id}: its tokens are refused from the next request on.")


async def _find(store: Store, client_id: str) -> Client:
    client = await store.find_client(client_id)
    if client is None:
        raise Mistake(f"there is no client {client_id!r}; `domogate client list` shows all.")
    return client


def _shown(client: Client) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.structs.asdict(client)
    del told["secret_hash"]
    return {"id": told.pop("id"), "name": told.pop("name"), "confidential": client.confidential, **told}


def _tell_secret(client: Client, secret: str | None, as_json: bool) -> None:
    if as_json:
        print_json({"secret": secret, **_shown(client)})
    elif secret is None:
        note(f"Registered {client.id}, a public client: it has no secret.")
    else:
        typer.echo(secret)
        note(f"The secret of {client.id}. It will not be shown again.")
