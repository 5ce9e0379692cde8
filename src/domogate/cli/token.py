"""`domogate token …`: the operator issues access tokens and id tokens, without a login."""

from collections.abc import Sequence
from typing import Annotated

import click

from domogate.app import Tools
from domogate.cli._command import Mistake, WrongUsage, changing, command, group
from domogate.cli._links import LINK_FLAGS, with_address
from domogate.cli._names import find_user
from domogate.cli._options import argument, option
from domogate.cli._output import AsJson, note, print_json
from domogate.cli._words import optional_duration
from domogate.domain.ids import DASHED_UUID, new_id
from domogate.domain.people import Client, Grant, TokenKind, User
from domogate.ports import Store
from domogate.services.audit import AuditAction, user_ref
from domogate.services.people import COMMAND_LINE
from domogate.settings import Settings

DEMO_CLIENT = "demo-app"

commands = group("token")


@command(commands, "issue", flags=LINK_FLAGS)
async def issue_token(
    settings: Settings,
    email: Annotated[str | None, argument("EMAIL", "Same as --user.")] = None,
    user: Annotated[str | None, option("EMAIL", "User of the token.")] = None,
    client: Annotated[str | None, option("ID", f"Client of the token. Default: {DEMO_CLIENT}, or the only client.")] = None,
    scope: Annotated[list[str] | None, option("SCOPE", "A scope; may be repeated. Default: all scopes of the client.")] = None,
    kind: Annotated[
        TokenKind, option(None, "`access` is for home control and the gateway's own APIs, `id` is for the other families.")
    ] = TokenKind.ID,
    lifetime: Annotated[
        str | None, option("DURATION", "Lifetime, such as 12h, 30m or 45s. Default: the lifetime in the settings.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Issue a token and print it. The token belongs to a new grant; `token revoke GRANT` revokes this grant.

    Example: `domogate token issue --user anna@example.com --kind id`
    """
    wanted = user or email
    if wanted is None or (user and email and user != email):
        raise WrongUsage("name the user of the token once: --user EMAIL.")
    seconds = optional_duration(lifetime)
    async with with_address(settings) as tools:
        holder = await _find_client(tools, client)
        owner = await find_user(tools, wanted)
        grant = await add_grant(tools.store, owner, holder, _scopes(scope, holder), tools.clock.now())
        tools.people.note(AuditAction.GRANT, COMMAND_LINE, user_ref(owner.id), client=holder.id, grant=grant.id)
        token = await (await tools.open_signer()).mint_token(kind, owner, holder, grant, seconds)
        if as_json:
            print_json({"token": token, "kind": kind, "grant": grant.id, "client": grant.client_id, "scopes": grant.scopes})
        else:
            click.echo(token)
            note(f"An {kind} token of {wanted} for {holder.name}. `domogate token revoke {grant.id}` revokes it.")


@command(commands, "revoke")
async def revoke_token(
    settings: Settings, grant: Annotated[str, argument("GRANT", "Id of the grant, as `token issue` prints it.")]
) -> None:
    """Revoke a grant. The next request with one of its tokens is refused."""
    grant_id = DASHED_UUID.parse_id(grant)
    if grant_id is None:
        raise Mistake(f"{grant!r} is not the id of a grant; `token issue` prints it beside the token.")
    async with changing(settings) as tools:
        if await tools.store.find_grant(grant_id) is None:
            raise Mistake(f"there is no grant {grant_id}.")
        if await tools.store.revoke_grant(grant_id, tools.clock.now()):
            tools.people.note(AuditAction.REVOCATION, COMMAND_LINE, f"grant:{grant_id}")
    note(f"Revoked the grant {grant_id}.")


async def add_grant(store: Store, user: User, client: Client, scopes: Sequence[str], now: float) -> Grant:
    """Store a new grant: the operator records that the user gives the client access.

    Raises Mistake if the user is not active.
    """
    if not user.active:
        raise Mistake(f"{user.email} is not active yet: the user needs a password first (`domogate user password-link`).")
    grant = Grant(new_id(), user.id, client.id, tuple(scopes), created_at=now)
    await store.add_grant(grant)
    return grant


async def _find_client(tools: Tools, wanted: str | None) -> Client:
    clients = {client.id: client for client in await tools.store.list_clients()}
    names = ", ".join(sorted(clients)) or "none yet"
    if wanted is None:
        if len(clients) != 1 and DEMO_CLIENT not in clients:
            raise Mistake(f"choose the client with --client; there are: {names}.")
        return clients.get(DEMO_CLIENT) or next(iter(clients.values()))
    if wanted not in clients:
        raise Mistake(f"there is no client {wanted!r}; there are: {names}.")
    return clients[wanted]


def _scopes(asked: Sequence[str] | None, client: Client) -> tuple[str, ...]:
    """Return the scopes of the new grant: those of `asked`, or all scopes of the client if `asked` is None.

    Each text of `asked` is the value of a flag: one scope, or several scopes with spaces between them. Raises Mistake if the
    client may not have one of the scopes.
    """
    scopes = tuple(dict.fromkeys(word for text in asked or () for word in text.split()))
    if beyond := [scope for scope in scopes if scope not in client.scopes]:
        raise Mistake(f"the client {client.id} may not have {', '.join(beyond)}; it may have: {', '.join(client.scopes)}.")
    return scopes if asked is not None else client.scopes
