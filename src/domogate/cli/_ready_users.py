"""The content of the ready file: new tokens of every kind for each active user whose password is in the estate file."""

from typing import Protocol

from domogate.cli._ready import Ready, ReadyClient, ReadyUser
from domogate.cli.token import add_grant
from domogate.common.secrets import hash_secret, new_secret
from domogate.domain.authorization import RefreshToken
from domogate.domain.people import HOME_SCOPE, Client, Grant, IdentityScope, Scope, TokenKind, User
from domogate.estate import EstateFile
from domogate.ports import Clock, Signer, Store
from domogate.settings import Settings


class Parts(Protocol):
    """The parts that the ready file needs. A `Gateway` has these parts. The `Tools` of a command have them too."""

    @property
    def settings(self) -> Settings: ...
    @property
    def store(self) -> Store: ...
    @property
    def clock(self) -> Clock: ...


async def make_ready(parts: Parts, signer: Signer, file: EstateFile, client_id: str, key: str) -> Ready:
    """Return the content of the ready file. The tokens belong to the client with this id. `key` is the subscription key."""
    client = await parts.store.find_client(client_id)
    assert client is not None
    users = [
        await _make_credentials(parts, signer, user, file.passwords[user.id], client)
        for user in await parts.store.list_users()
        if user.active and user.id in file.passwords
    ]
    order = [user.email for user in file.estate.users]
    return Ready(
        base_url=parts.settings.base_url,
        auth_url=parts.settings.auth_url,
        subscription_key=key,
        users=tuple(sorted(users, key=lambda user: order.index(user.email))),
        clients=tuple(ReadyClient(one.id, file.secrets.get(one.id), one.redirect_uris) for one in file.estate.clients),
    )


async def _make_credentials(parts: Parts, signer: Signer, user: User, password: str, client: Client) -> ReadyUser:
    scopes = client.limit_scopes((IdentityScope.OPENID, *Scope, HOME_SCOPE))
    grant = await add_grant(parts.store, user, client, scopes, parts.clock.now())
    minted = {kind: await signer.mint_token(kind, user, client, grant) for kind in TokenKind}
    refresh_token = await _add_refresh_token(parts, grant)
    return ReadyUser(user.email, password, minted[TokenKind.ID], minted[TokenKind.ACCESS], refresh_token)


async def _add_refresh_token(parts: Parts, grant: Grant) -> str:
    value, now = new_secret(), parts.clock.now()
    expires_at = now + parts.settings.refresh_token_lifetime
    await parts.store.add_refresh_token(RefreshToken(hash_secret(value), grant.id, grant.client_id, now, expires_at))
    return value
