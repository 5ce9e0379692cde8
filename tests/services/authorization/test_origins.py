import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from domogate.domain.events import Change, ClientChanged
from domogate.domain.people import Client
from domogate.services.authorization.origins import Origins, origins_of

ONE, OTHER = (
    Client("one", "One", origins=("https://one.example.com",)),
    Client("two", "Two", origins=("https://two.example.com",)),
)
CHANGED = [Change(1, 0.0, ClientChanged(client_id="one"))]


class HeldClientStore:
    """The needed part of the store. It returns when the test opens the gate."""

    def __init__(self, *clients: Client) -> None:
        self.clients = clients
        self.gate = asyncio.Event()
        self.gate.set()
        self.failures = 0

    async def list_clients(self) -> Sequence[Client]:
        found = self.clients
        if self.failures:
            self.failures -= 1
            raise OSError("disk gone")
        await self.gate.wait()
        return found


def new_origins(register: Any) -> Origins:
    return Origins(register)


class TestOrigins:
    async def test_are_those_of_the_clients_that_are_registered(self) -> None:
        register = HeldClientStore(ONE)
        origins = new_origins(register)
        assert await origins.is_allowed(b"https://one.example.com")
        assert not await origins.is_allowed(b"https://two.example.com")
        register.clients = (OTHER,)
        assert await origins.is_allowed(b"https://one.example.com"), "the store was read again without a change"
        origins.apply(CHANGED)
        assert not await origins.is_allowed(b"https://one.example.com")
        assert await origins.is_allowed(b"https://two.example.com")

    async def test_are_read_again_when_a_client_changes_while_they_are_read(self) -> None:
        register = HeldClientStore(ONE)
        origins = new_origins(register)
        register.gate.clear()
        asking = asyncio.create_task(origins.is_allowed(b"https://one.example.com"))
        await asyncio.sleep(0.01)
        register.clients = ()
        origins.apply(CHANGED)
        register.gate.set()
        assert not await asking

    async def test_a_failed_read_is_tried_again(self) -> None:
        register = HeldClientStore(ONE)
        origins = new_origins(register)
        register.failures = 1
        with pytest.raises(OSError, match="disk gone"):
            await origins.is_allowed(b"https://one.example.com")
        assert await origins.is_allowed(b"https://one.example.com")


class TestTheOriginsOfAClient:
    @pytest.mark.parametrize(
        ("uri", "origins"),
        [
            ("https://app.example.com/callback", {"https://app.example.com"}),
            ("https://app.example.com:443/", {"https://app.example.com"}),
            ("http://127.0.0.1:8090/callback", {"http://127.0.0.1:8090"}),
            ("http://[::1]:8090/", {"http://[::1]:8090"}),
            ("com.example.app:/done", set()),
        ],
    )
    def test_are_where_its_redirect_uris_lie_too(self, uri: str, origins: set[str]) -> None:
        assert origins_of(Client("x", "X", redirect_uris=(uri,))) == origins
