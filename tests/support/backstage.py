"""What an operator does from a second process, without a command for it: the store of a running gateway, through its port."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from domogate.app import Tools, open_tools
from domogate.domain.ids import new_id
from domogate.domain.people import Grant, TokenKind
from domogate.settings import Settings
from support.gateway import Gateway

T = TypeVar("T")
_KINDS = {"id_token": TokenKind.ID, "access_token": TokenKind.ACCESS}


def backstage(gateway: Gateway, act: Callable[[Tools], Awaitable[T]]) -> T:
    """Do it, and return once the running gateway has applied it, as every command does."""

    async def run() -> T:
        async with open_tools(Settings(data=gateway.data, public_url=gateway.base_url)) as tools:
            result = await act(tools)
            assert await tools.store.wait_applied(10), "the running gateway did not take up the change"
            return result

    return asyncio.run(run())


def let_in(gateway: Gateway, key: str) -> Gateway:
    """Give a gateway without a demo what its ready file lacks: the key, and tokens of every active user for its only client."""

    async def mint(tools: Tools) -> list[dict[str, str]]:
        client = (await tools.store.list_clients())[0]
        users = []
        for user in await tools.store.list_users():
            if user.active:
                grant = Grant(new_id(), user.id, client.id, client.scopes, created_at=tools.clock.now())
                await tools.store.add_grant(grant)
                tokens = {name: await tools.signer.mint_token(kind, user, client, grant) for name, kind in _KINDS.items()}
                users.append({"email": user.email, "password": "", **tokens})
        return users

    gateway.ready |= {"subscription_key": key, "users": backstage(gateway, mint)}
    return gateway
