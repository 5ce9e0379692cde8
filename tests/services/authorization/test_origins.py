import asyncio
from collections.abc import Sequence

import pytest
from structlog.testing import capture_logs

from domogate.domain.events import Change, ClientChanged
from domogate.domain.people import Client
from domogate.services.authorization.origins import Origins, origins_of

pytestmark = pytest.mark.usefixtures("leaping_time")

ONE, OTHER = (
    Client("one", "One", origins=("https://one.example.com",)),
    Client("two", "Two", origins=("https://two.example.com",)),
)
CHANGED = [Change(1, 0.0, ClientChanged(client_id="one"))]


class Register:
    """The part of the Store that is needed, with readers that take as long as a test says."""

    def __init__(self, *clients: Client) -> None:
        self.clients = clients
        self.pauses: list[float] = []
        self.failures = 0

    async def list_clients(self) -> Sequence[Client]:
        found = self.clients
        if self.failures:
            self.failures -= 1
            raise OSError("disk gone")
        if self.pauses:
            await asyncio.sleep(self.pauses.pop(0))
        return found


class TestOrigins:
    async def test_are_those_of_the_clients_that_are_registered(self) -> None:
        register = Register(ONE)
        origins = Origins(register)
        await origins.start()
        assert origins.is_allowed(b"https://one.example.com")
        register.clients = (OTHER,)
        origins.apply(CHANGED)
        await asyncio.sleep(1)
        assert not origins.is_allowed(b"https://one.example.com")
        assert origins.is_allowed(b"https://two.example.com")

    async def test_are_the_newest_even_if_what_was_asked_first_comes_last(self) -> None:
        register = Register(ONE)
        origins = Origins(register)
        await origins.start()
        register.pauses = [0.5, 0.1]
        origins.apply(CHANGED)
        await asyncio.sleep(0.1)
        register.clients = ()
        origins.apply(CHANGED)
        await asyncio.sleep(2)
        assert not origins.is_allowed(b"https://one.example.com")

    async def test_that_cannot_be_read_are_read_again(self) -> None:
        register = Register(ONE)
        origins = Origins(register)
        await origins.start()
        register.clients, register.failures = (OTHER,), 2
        with capture_logs() as logs:
            origins.apply(CHANGED)
            await asyncio.sleep(60)
        assert origins.is_allowed(b"https://two.example.com")
        assert [entry["log_level"] for entry in logs] == ["error", "error"]


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
