"""`domogate client …`: the applications that are registered for OAuth."""

from collections.abc import Sequence
from typing import Annotated, Any

import click
import msgspec

from domogate.cli._command import Mistake, WrongUsage, Yes, changing, command, confirm, group, reading
from domogate.cli._options import argument, flag, option
from domogate.cli._output import AsJson, note, print_fields, print_json, print_list, yes_or_no
from domogate.domain.people import KNOWN_SCOPES, Client, GrantType
from domogate.ports import Store
from domogate.settings import Settings

commands = group("client")

ClientId = Annotated[str, argument("ID", "Id of the application.")]
RedirectUris = Annotated[
    list[str] | None,
    option(
        "URI", "Address to which the browser returns after login; may be repeated. It must match exactly.", "--redirect-uri"
    ),
]
LogoutUris = Annotated[
    list[str] | None,
    option("URI", "Address to which the browser may return after logout; may be repeated.", "--post-logout-redirect-uri"),
]
Origins = Annotated[
    list[str] | None, option("ORIGIN", "Web origin that may call the gateway (CORS); may be repeated.", "--origin")
]
Scopes = Annotated[
    list[str] | None,
    option(
        "SCOPES",
        f"Scopes that the application may ask for, separated by spaces; may be repeated. There are {', '.join(KNOWN_SCOPES)}.",
        "--scope",
    ),
]
_LOGIN = (GrantType.AUTHORIZATION_CODE, GrantType.REFRESH_TOKEN)


@command(commands, "add")
async def add_client(
    settings: Settings,
    client_id: Annotated[str, argument("ID", "Id of the application, without spaces.")],
    name: Annotated[str | None, option("NAME", "Name on the consent page. Default: the id.")] = None,
    redirect_uri: RedirectUris = None,
    post_logout_redirect_uri: LogoutUris = None,
    origin: Origins = None,
    scope: Scopes = None,
    grant: Annotated[
        list[GrantType] | None,
        option(
            "GRANT",
            f"{', '.join(GrantType)}; may be repeated. Default: authorization_code and refresh_token if there is a redirect"
            " URI, otherwise none.",
        ),
    ] = None,
    public: Annotated[
        bool,
        flag(
            "--public", "The application gets no secret, because it runs in a browser or on a phone and cannot keep a secret."
        ),
    ] = False,
    access_token_everywhere: Annotated[
        bool,
        flag("--access-token-everywhere", "Access tokens of this application also work in families that need an id token."),
    ] = False,
    pkce_exempt: Annotated[
        bool, flag("--pkce-exempt", "Allow a login without PKCE. Only for an old application that has a secret.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Register an application and print its secret, which is not shown again.

    An application without a redirect URI cannot log people in. It can get tokens from `domogate token issue`.

    Example: `domogate client add my-app --redirect-uri http://127.0.0.1:8090/callback --scope topology.read`
    """
    client = Client(
        id=client_id,
        name=client_id if name is None else name,
        redirect_uris=tuple(redirect_uri or ()),
        origins=tuple(origin or ()),
        grants=tuple(grant or (_LOGIN if redirect_uri else ())),
        scopes=_split(scope or ()),
        access_token_everywhere=access_token_everywhere,
        pkce_exempt=pkce_exempt,
        post_logout_redirect_uris=tuple(post_logout_redirect_uri or ()),
    )
    async with changing(settings) as tools:
        added, secret = await tools.people.clients.add(client, confidential=not public)
        _tell_secret(added, secret, as_json)
        if not added.grants:
            note(
                "The application has no redirect URI, so people cannot log in with it. `domogate token issue` makes its tokens."
            )


@command(commands, "list")
async def list_clients(settings: Settings, as_json: AsJson = False) -> None:
    """List all applications."""
    async with reading(settings) as tools:
        found = await tools.store.list_clients()
    rows = ((one.id, one.name, "confidential" if one.confidential else "public", " ".join(one.scopes) or None) for one in found)
    print_list(as_json, [_shown(client) for client in found], ("id", "name", "kind", "scopes"), rows)


@command(commands, "show")
async def show_client(settings: Settings, client_id: ClientId, as_json: AsJson = False) -> None:
    """Show an application. The secret cannot be shown, because the store keeps only its hash."""
    async with reading(settings) as tools:
        shown = _shown(await _find(tools.store, client_id))
    if as_json:
        print_json(shown)
        return
    print_fields((field.replace("_", " "), _words(value)) for field, value in shown.items())


@command(commands, "change")
async def change_client(
    settings: Settings,
    client_id: ClientId,
    name: Annotated[str | None, option("NAME", "Name on the consent page.")] = None,
    redirect_uri: RedirectUris = None,
    post_logout_redirect_uri: LogoutUris = None,
    origin: Origins = None,
    scope: Scopes = None,
    grant: Annotated[list[GrantType] | None, option("GRANT", f"{', '.join(GrantType)}; may be repeated.")] = None,
    access_token_everywhere: Annotated[
        bool | None,
        flag(
            "--access-token-everywhere/--access-token-by-family",
            "Whether access tokens also work in families that need an id token.",
        ),
    ] = None,
    pkce_exempt: Annotated[
        bool | None, flag("--pkce-exempt/--pkce-required", "Whether a login without PKCE is allowed.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Change the registration of an application. The secret, the grants of people, and values without a flag stay as they are.

    A flag replaces all values of its kind. An empty text removes them: `--origin ''`.

    Example: `domogate client change my-app --redirect-uri https://app.example.com/callback`
    """
    wanted: dict[str, Any] = {
        "name": name,
        "redirect_uris": _filled(redirect_uri),
        "post_logout_redirect_uris": _filled(post_logout_redirect_uri),
        "origins": _filled(origin),
        "scopes": None if scope is None else _split(scope),
        "grants": None if grant is None else tuple(dict.fromkeys(grant)),
        "access_token_everywhere": access_token_everywhere,
        "pkce_exempt": pkce_exempt,
    }
    wanted = {field: value for field, value in wanted.items() if value is not None}
    if not wanted:
        raise WrongUsage("say what to change, for example --redirect-uri URI.")
    async with changing(settings) as tools:
        await _find(tools.store, client_id)
        changed = await tools.people.clients.change(client_id, lambda client: msgspec.structs.replace(client, **wanted))
    if as_json:
        print_json(_shown(changed))
    else:
        note(f"Changed {changed.id}: {', '.join(field.replace('_', ' ') for field in wanted)}.")


@command(commands, "rotate-secret")
async def rotate_secret(settings: Settings, client_id: ClientId, as_json: AsJson = False) -> None:
    """Make a new secret and print it. It is not shown again. The old secret is refused from now on."""
    async with changing(settings) as tools:
        client = await _find(tools.store, client_id)
        _tell_secret(client, await tools.people.clients.rotate_secret(client_id), as_json)


@command(commands, "delete")
async def delete_client(settings: Settings, client_id: ClientId, yes: Yes = False) -> None:
    """Delete an application with all grants that people gave to it."""
    async with changing(settings) as tools:
        client = await _find(tools.store, client_id)
        confirm(f"Delete {client.name} ({client.id}) with all grants that people gave to it?", yes)
        await tools.people.clients.delete(client.id)
    note(f"Deleted {client.id}. Its tokens are refused from the next request on.")


async def _find(store: Store, client_id: str) -> Client:
    client = await store.find_client(client_id)
    if client is None:
        raise Mistake(f"there is no client {client_id!r}; `domogate client list` shows all applications.")
    return client


def _shown(client: Client) -> dict[str, Any]:
    shown: dict[str, Any] = msgspec.structs.asdict(client)
    del shown["secret_hash"]
    return {"id": shown.pop("id"), "name": shown.pop("name"), "confidential": client.confidential, **shown}


def _filled(values: list[str] | None) -> tuple[str, ...] | None:
    """Return the values of a flag without empty texts, or None if the flag is not given."""
    return None if values is None else tuple(value for value in values if value)


def _split(scopes: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for text in scopes for word in text.split()))


def _words(value: bool | str | tuple[str, ...]) -> str:
    if isinstance(value, bool):
        return yes_or_no(value)
    return value if isinstance(value, str) else " ".join(value)


def _tell_secret(client: Client, secret: str | None, as_json: bool) -> None:
    if as_json:
        print_json({"secret": secret, **_shown(client)})
    elif secret is None:
        note(f"Registered {client.id}, a public client: it has no secret.")
    else:
        click.echo(secret)
        note(f"The secret of {client.id}. It is not shown again.")
