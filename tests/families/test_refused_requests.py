"""A family keeps nothing for a request that it refused: otherwise anybody could fill its cache of paths."""

import tracemalloc
from collections.abc import Callable, MutableMapping
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from domogate.domain.faults import KeyRefused, TokenRefused
from domogate.domain.people import GrantType, Principal, Scope, Standing, TokenKind
from domogate.families._serve import FamilyApp
from domogate.families.homeauto import FAMILY
from domogate.ports import Admitted
from support.clocks import NOW, ManualClock
from support.examples import is_long
from support.stores import an_id

READER = Principal(
    an_id(1),
    "app",
    an_id(2),
    TokenKind.ID,
    frozenset({Scope.LIGHT_READ, Scope.TOPOLOGY_READ}),
    NOW + 3600,
    GrantType.AUTHORIZATION_CODE,
    False,
    Standing.GOOD,
)
REQUESTS = 4_000 if is_long() else 1_500
MOST_KEPT = 100 * REQUESTS
"""Bytes. If the paths were kept, even the shortest of them would need more."""


class Credentials:
    """Refuses the key or the token, or accepts both."""

    def __init__(self, *, key_is_known: bool = True, principal: Principal | None = READER) -> None:
        self.key_is_known, self.principal = key_is_known, principal

    def admit_known(self, key: bytes) -> Admitted | None:
        return Admitted(an_id(3)) if self.key_is_known else None

    async def admit(self, key: bytes) -> Admitted:
        raise KeyRefused

    def find_verified(self, token: bytes) -> Principal | None:
        return self.principal

    async def verify(self, token: bytes) -> Principal:
        raise TokenRefused("the token is not valid")


class EmptyReadModel:
    def find_plant(self, plant_id: str) -> None:
        return None

    async def get_plant(self, plant_id: str) -> None:
        return None


def long_path(number: int) -> bytes:
    return f"{FAMILY.prefix}/plants/{number:01000d}/topology".encode()


def well_formed_path(number: int) -> bytes:
    return f"{FAMILY.prefix}/plants/{an_id(number)}/topology".encode()


def ignore(*_: object, **__: object) -> None:
    pass


class TestRefusedRequests:
    @pytest.mark.parametrize(
        ("credentials", "path", "status"),
        [
            (Credentials(key_is_known=False), long_path, 401),
            (Credentials(principal=None), long_path, 401),
            (Credentials(principal=msgspec.structs.replace(READER, kind=TokenKind.ACCESS)), long_path, 401),
            (Credentials(principal=msgspec.structs.replace(READER, scopes=frozenset())), long_path, 401),
            (Credentials(), long_path, 404),
            (Credentials(), well_formed_path, 404),
        ],
        ids=["unknown key", "refused token", "wrong kind of token", "no scope", "malformed id", "unknown plant"],
    )
    @pytest.mark.slow
    async def test_thousands_of_different_paths_take_no_memory(
        self, credentials: Any, path: Callable[[int], bytes], status: int
    ) -> None:
        services: Any = SimpleNamespace(read_model=EmptyReadModel(), clock=ManualClock(NOW), audit=SimpleNamespace(note=ignore))
        app = FamilyApp(FAMILY, services, admission=credentials, verifier=credentials, max_body=1000, sunset={})
        headers = [(b"ocp-apim-subscription-key", b"key"), (b"authorization", b"Bearer token")]
        statuses: set[int] = set()

        async def receive() -> MutableMapping[str, Any]:
            raise AssertionError("a refused request is not read")

        async def send(message: MutableMapping[str, Any]) -> None:
            if "status" in message:
                statuses.add(message["status"])

        tracemalloc.start()
        try:
            for number in range(REQUESTS):
                scope = {"method": "GET", "raw_path": path(number), "headers": headers, "client": None}
                await app(scope, receive, send)
                if number == 0:
                    before = tracemalloc.get_traced_memory()[0]
            assert tracemalloc.get_traced_memory()[0] - before < MOST_KEPT
        finally:
            tracemalloc.stop()
        assert statuses == {status}
