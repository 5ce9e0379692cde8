"""Direct access to the store of a running gateway, for changes without a command."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import msgspec

from domogate.app import Tools, new_subscription, open_tools
from domogate.domain.ids import Id, new_id
from domogate.domain.people import Grant, GrantType, Standing, TokenKind
from domogate.settings import Settings
from support.gateway import Gateway
from support.http import PATIENCE
from support.spec_operations import ALL_SCOPES

T = TypeVar("T")
_KINDS = {"id_token": TokenKind.ID, "access_token": TokenKind.ACCESS}


def run_with_tools(gateway: Gateway, act: Callable[[Tools], Awaitable[T]]) -> T:
    """Make a change, and return when the running gateway has applied it."""

    async def run() -> T:
        settings = Settings(
            data=gateway.data,
            public_url=gateway.base_url,
            database=gateway.environment.get("DOMOGATE_DATABASE"),
            secret_key=gateway.environment.get("DOMOGATE_SECRET_KEY"),
        )
        async with open_tools(settings) as tools:
            result = await act(tools)
            assert await tools.store.wait_applied(PATIENCE), "the running gateway did not take up the change"
            return result

    return asyncio.run(run())


def add_credentials(gateway: Gateway, key: str) -> Gateway:
    """Add the key and the tokens of all active users to the ready file of a gateway that is not a demo."""

    async def mint(tools: Tools) -> list[dict[str, str]]:
        client, signer = (await tools.store.list_clients())[0], await tools.open_signer()
        users = []
        for user in await tools.store.list_users():
            if user.active:
                grant = Grant(new_id(), user.id, client.id, client.scopes, created_at=tools.clock.now())
                await tools.store.add_grant(grant)
                tokens = {name: await signer.mint_token(kind, user, client, grant) for name, kind in _KINDS.items()}
                users.append({"email": user.email, "password": "", **tokens})
        return users

    gateway.ready |= {"subscription_key": key, "users": run_with_tools(gateway, mint)}
    return gateway


def issue_token(
    gateway: Gateway,
    email: str,
    kind: str,
    scopes: tuple[str, ...] = ALL_SCOPES,
    *,
    flow: GrantType = GrantType.AUTHORIZATION_CODE,
    access_token_everywhere: bool = False,
) -> str:
    """A token as `domogate token issue` makes it, without a process. Equal arguments give the same token."""

    async def mint(tools: Tools) -> str:
        clients, user = await tools.store.list_clients(), await tools.store.find_user_by_email(email)
        assert user is not None
        client = next(client for client in clients if client.access_token_everywhere is access_token_everywhere)
        grant = Grant(new_id(), user.id, client.id, scopes, flow=flow, created_at=tools.clock.now())
        await tools.store.add_grant(grant)
        return await (await tools.open_signer()).mint_token(TokenKind(kind), user, client, grant)

    arguments = (email, kind, flow, str(access_token_everywhere), *scopes)
    if arguments not in gateway.minted:
        gateway.minted[arguments] = run_with_tools(gateway, mint)
    return gateway.minted[arguments]


def issue_key(gateway: Gateway, *, rate: str | None = None, daily_quota: int | None = None, life: float | None = None) -> str:
    """A subscription key as `domogate key issue` makes it."""

    async def add(tools: Tools) -> str:
        now = tools.clock.now()
        key, subscription = new_subscription("of a test", rate, daily_quota, None if life is None else now + life, now)
        await tools.store.add_subscription(subscription)
        return key

    return run_with_tools(gateway, add)


def revoke_key(gateway: Gateway, key: str) -> None:
    async def revoke(tools: Tools) -> None:
        found = await tools.store.find_subscription(hashlib.sha256(key.encode()).hexdigest())
        assert found is not None
        assert await tools.store.revoke_subscription(found.id, tools.clock.now())

    run_with_tools(gateway, revoke)


@contextmanager
def simulated(gateway: Gateway, module_id: str, how: str) -> Iterator[None]:
    """Make a simulated device offline, slow or refusing during the block."""
    module = Id(module_id)
    assert run_with_tools(gateway, lambda tools: tools.store.set_module_options(module, {"simulate": how}))
    try:
        yield
    finally:
        run_with_tools(gateway, lambda tools: tools.store.set_module_options(module, {}))


@contextmanager
def standing(gateway: Gateway, email: str, word: Standing) -> Iterator[None]:
    """Give a user this standing during the block."""

    async def put(tools: Tools, word: Standing) -> None:
        user = await tools.store.find_user_by_email(email)
        assert user is not None
        await tools.store.save_user(msgspec.structs.replace(user, standing=word))

    run_with_tools(gateway, lambda tools: put(tools, word))
    try:
        yield
    finally:
        run_with_tools(gateway, lambda tools: put(tools, Standing.GOOD))
