"""`domogate token …`: tokens of either kind, minted by the operator instead of by a login."""

from collections.abc import Sequence
from typing import Annotated

import typer

from domogate.app import Tools, open_tools
from domogate.cli._command import Mistake, WrongUsage, command, until_applied
from domogate.cli._flags import WHERE
from domogate.cli._output import AsJson, note, print_json
from domogate.cli._people import find_user
from domogate.cli._ready import at_noted_address
from domogate.cli._words import parse_duration
from domogate.domain.ids import DASHED_UUID, new_id
from domogate.domain.people import Client, Grant, TokenKind, User
from domogate.ports import Store
from domogate.services.audit.log import AuditAction, user_ref
from domogate.services.people.people import COMMAND_LINE
from domogate.settings import Settings

DEMO_CLIENT = "demo-app"

tokens = typer.Typer(help="Tokens: issue one, revoke what it rests on.", no_args_is_help=True)


def register(cli: typer.Typer) -> None:
    cli.add_typer(tokens, name="token")


@command(tokens, "issue", flags=(*WHERE, "public_url"))
async def issue_token(
    settings: Settings,
    email: Annotated[str | None, typer.Argument(metavar="[EMAIL]", help="The user it speaks for; the same as --user.")] = None,
    user: Annotated[str | None, typer.Option(metavar="EMAIL", help="The user it speaks for.")] = None,
    client: Annotated[
        str | None, typer.Option(metavar="ID", help=f"The client that holds it; {DEMO_CLIENT} or the only one by default.")
    ] = None,
    scope: Annotated[
        list[str] | None, typer.Option(metavar="SCOPE", help="Again for each scope; all that the client may have by default.")
    ] = None,
    kind: Annotated[TokenKind, typer.Option(help="access is for home control, id for all other families.")] = TokenKind.ID,
    lifetime: Annotated[str | None, typer.Option(metavar="TIME", help="As 12h, 30m or 45s; by default as set.")] = None,
    as_json: AsJson = False,
) -> None:
    """Mint a token and print it. It rests on a grant of its own, whose id `token revoke` takes."""
    wanted = user or email
    if wanted is None or (user and email and user != email):
        raise WrongUsage("say once which user the token is for: --user EMAIL.")
    seconds = None if lifetime is None else parse_duration(lifetime)
    async with open_tools(at_noted_address(settings)) as tools:
        holder = await _find_client(tools, client)
        owner = await find_user(tools, wanted)
        grant = await add_grant(tools.store, owner, holder, _scopes(scope, holder), tools.clock.now())
        tools.people.note(AuditAction.GRANT, COMMAND_LINE, user_ref(owner.id), client=holder.id, grant=grant.id)
        token = await tools.signer.mint_token(kind, owner, holder, grant, seconds)
        if as_json:
            print_json({"token": token, "kind": kind, "grant": grant.id, "client": grant.client_id, "scopes": grant.scopes})
        else:
            typer.echo(token)
            note(f"An {kind} token of {wanted} for {holder.name}; its grant is {grant.id}.")
        await until_applied(tools.store)


@command(tokens, "revoke")
async def revoke_token(
    settings: Settings, grant: Annotated[str, typer.Argument(metavar="GRANT", help="As `token issue` told it.")]
) -> None:
    """Revoke a grant: every token that rests on it is refused from the next request on."""
    grant_id = DASHED_UUID.parse_id(grant)
    if grant_id is None:
        raise Mistake(f"{grant!r} is not the id of a grant; `token issue` tells it beside the token.")
    async with open_tools(settings) as tools:
        if not await tools.store.revoke_grant(grant_id, tools.clock.now()):
            raise Mistake(f"there is no grant {grant_id}.")
        tools.people.note(AuditAction.REVOCATION, COMMAND_LINE, f"grant:{grant_id}")
        await until_applied(tools.store)
        note(f"Revoked the grant {grant_id}.")


async def add_grant(store: Store, user: User, client: Client, scopes: Sequence[str], now: float) -> Grant:
    """That the user lets the client in, said by the operator."""
    if not user.active:
        raise Mistake(f"{user.email} is not active yet: a user without a password can have no token.")
    grant = Grant(new_id(), user.id, client.id, tuple(scopes), created_at=now)
    await store.add_grant(grant)
    return grant


async def _find_client(tools: Tools, wanted: str | None) -> Client:
    clients = {client.id: client for client in await tools.store.list_clients()}
    names = ", ".join(sorted(clients)) or "none yet"
    if wanted is None:
        if len(clients) != 1 and DEMO_CLIENT not in clients:
            raise Mistake(f"say with --client for which client the token is; there are: {names}.")
        return clients.get(DEMO_CLIENT) or next(iter(clients.values()))
    if wanted not in clients:
        raise Mistake(f"there is no client {wanted!r}; there are: {names}.")
    return clients[wanted]


def _scopes(asked: Sequence[str] | None, client: Client) -> tuple[str, ...]:
    """Several flags, or one with spaces between (as OAuth writes them)."""
    scopes = tuple(dict.fromkeys(word for text in asked or () for word in text.split()))
    if beyond := [scope for scope in scopes if scope not in client.scopes]:
        raise Mistake(f"the client {client.id} may not have {', '.join(beyond)}; it may have: {', '.join(client.scopes)}.")
    return scopes if asked is not None else client.scopes
