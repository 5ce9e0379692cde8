"""The same surfaces behind two HTTP servers: one answers requests directly, the other answers all requests the ASGI way."""

import asyncio
import re
import socket
import threading
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from types import SimpleNamespace
from typing import Any

import msgspec
import uvloop

from domogate.domain.commands import Order, OrderRecord, OrderState
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceOffline, KeyRefused, TokenRefused
from domogate.domain.ids import Id
from domogate.domain.people import HOME_SCOPE, GrantType, Principal, Scope, Standing, TokenKind
from domogate.domain.plants import Member, Module, Plant, PlantType, Topology
from domogate.domain.states import LightState
from domogate.edge.guards import Limits
from domogate.edge.metrics import Metrics
from domogate.edge.stack import Edge, Surfaces, nothing_here
from domogate.families._serve import FamilyApp
from domogate.families.homeauto import FAMILY
from domogate.ports import Admitted, StoredPlant
from domogate.services.plants.read_model import ModuleView, ReadModel
from support.clocks import NOW, ManualClock
from support.edge_server import serving
from support.stores import an_id
from support.two_ways_surfaces import MAX_BODY, build_auth, build_home, build_tickets

HELD, ASKED, OFFLINE, BROKEN = (Module(an_id(n), an_id(100 + n), f"Lamp {n}", DeviceKind.LIGHT) for n in range(20, 24))
"""Four lamps: the state of the first is in memory; the others are asked, are offline, or cause an unexpected error."""
OWN_PLANTS = (an_id(10), an_id(11))
FOREIGN_PLANT = an_id(12)
FRIEND = b"https://app.example"
_STATE = LightState(on=True)
_OWNER, _OTHER = Member(an_id(1), "1@example.com"), Member(an_id(2), "2@example.com")
_LIMITED = Admitted(an_id(3), ((b"ratelimit-policy", b'"rate";q=9;w=1'), (b"x-ratelimit-remaining", b"8")))
_READER = Principal(
    *(
        _OWNER.user_id,
        "app",
        an_id(2),
        TokenKind.ID,
        frozenset({Scope.LIGHT_READ, Scope.LIGHT_WRITE, Scope.TOPOLOGY_READ}),
        NOW + 3600,
    ),
    *(GrantType.AUTHORIZATION_CODE, False, Standing.GOOD),
)
_RESIDENT = msgspec.structs.replace(_READER, kind=TokenKind.ACCESS, scopes=frozenset({HOME_SCOPE}))
_LIMITS = Limits(max_header=4096, header_deadline=30, body_deadline=30, keep_alive=30)
_ID_AND_DATE = re.compile(rb"(x-request-id: [0-9a-f]{8}-[0-9a-f]+|date: [^\r]+)\r\n")


class _Credentials:
    """The names of the keys and tokens say what happens to them. A slow one is found after a wait."""

    def admit_known(self, key: bytes) -> Admitted | None:
        return {b"key": Admitted(an_id(3)), b"limited": _LIMITED}.get(key)

    async def admit(self, key: bytes) -> Admitted:
        await asyncio.sleep(0)
        if key != b"slow":
            raise KeyRefused
        return Admitted(an_id(3))

    def find_verified(self, token: bytes) -> Principal | None:
        return {b"token": _READER, b"home": _RESIDENT}.get(token)

    async def verify(self, token: bytes) -> Principal:
        await asyncio.sleep(0)
        if token != b"slow":
            raise TokenRefused("the token is not valid")
        return _READER


class _Store:
    async def find_plant(self, plant_id: Id) -> StoredPlant | None:
        await asyncio.sleep(0)
        if plant_id not in (*OWN_PLANTS, FOREIGN_PLANT):
            return None
        owner = _OTHER if plant_id == FOREIGN_PLANT else _OWNER
        plant = Plant(plant_id, plant_id, "Home", PlantType.HOUSE, owner)
        return StoredPlant(plant, Topology(modules=(HELD, ASKED, OFFLINE, BROKEN)), {}, 1)

    async def find_spare_parts(self, _: str) -> None: ...


class _Control:
    def find_fresh(self, view: ModuleView) -> LightState | None:
        if view.module.id == BROKEN.id:
            raise ZeroDivisionError
        return _STATE if view.module.id == HELD.id else None

    async def read_state(self, view: ModuleView) -> LightState:
        await asyncio.shield(asyncio.create_task(_ask()))  # as in Control
        if view.module.id == OFFLINE.id:
            raise DeviceOffline("the light is offline; its state cannot be read now")
        return _STATE

    async def order(self, plant_id: Id, module_id: Id, command: Any, *, key: str | None, by: Id) -> OrderRecord:
        failed = ""
        try:
            await self.execute(plant_id, module_id, command, by=by)
        except DeviceOffline as fault:
            failed = fault.message
        order = Order(key or "order", plant_id, module_id, command, NOW + 10, by)
        return OrderRecord(order, OrderState.FAILED if failed else OrderState.CONFIRMED, NOW, NOW, NOW, failed)

    async def execute(self, _plant_id: Id, module_id: Id, _command: object, *, by: Id) -> None:
        if module_id == BROKEN.id:
            raise ZeroDivisionError
        if module_id != HELD.id:
            await asyncio.shield(asyncio.create_task(_ask()))
        if module_id == OFFLINE.id:
            raise DeviceOffline("the light is offline; it cannot be set now")


async def _ask() -> None:
    async with asyncio.timeout(60):
        await asyncio.sleep(0.001)


class _Counted(Surfaces):
    """Counts the requests that come through ASGI."""

    count = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.count += 1
        await super().__call__(scope, receive, send)


def _build_edge(metrics: Metrics) -> tuple[Edge, _Counted]:
    store: Any = _Store()
    services: Any = SimpleNamespace(
        # Only one plant fits into the read model, so a plant often has to be loaded.
        read_model=ReadModel(store, max_modules=5),
        control=_Control(),
        clock=ManualClock(NOW),
        audit=SimpleNamespace(note=lambda *_, **__: None),
    )
    credentials: Any = _Credentials()
    family = FamilyApp(FAMILY, services, admission=credentials, verifier=credentials, max_body=MAX_BODY, sunset={})

    async def is_friend(origin: bytes) -> bool:
        if origin != FRIEND:
            await asyncio.sleep(0)
        return origin == FRIEND

    root = FAMILY.root.encode()
    auth, tickets, home = build_auth(), build_tickets(), build_home(services, credentials)
    surfaces = _Counted({root: family, b"auth": auth, b"tickets": tickets, b"home": home}, nothing_here)
    edge = Edge(
        surfaces,
        is_allowed_origin=is_friend,
        is_ready=lambda: True,
        metrics=metrics,
        access_log=True,
        surfaces=frozenset({FAMILY.root, "auth", "tickets", "home"}),
        handlers={
            ("GET", root): family.answer,
            ("POST", root): family.answer,
            ("POST", b"tickets"): tickets.answer,
            ("POST", b"home"): home.answer,
            ("POST", b"/auth/token"): auth.answer,
        },
    )
    return edge, surfaces


class TwoWays:
    """Runs both servers in a thread with its own event loop."""

    def __init__(self) -> None:
        self.metrics = Metrics(), Metrics()
        self._ports: list[int] = []
        self._surfaces: list[_Counted] = []
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: uvloop.run(self._serve()))

    def __enter__(self) -> "TwoWays":
        self._thread.start()
        assert self._ready.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with AsyncExitStack() as stack:
            for metrics, is_direct in zip(self.metrics, (True, False), strict=True):
                edge, surfaces = _build_edge(metrics)
                self._surfaces.append(surfaces)
                bound = await stack.enter_async_context(serving(edge, _LIMITS, direct=edge if is_direct else None))
                self._ports.append(bound.port)
            self._ready.set()
            await self._stop.wait()

    def exchange(self, pieces: Sequence[bytes]) -> tuple[bytes, bytes]:
        """Send the pieces to both servers. Returns all bytes that each server sends, without request ids and dates."""
        direct, asgi = (_exchange(port, pieces) for port in self._ports)
        return direct, asgi

    @property
    def through_asgi(self) -> tuple[int, int]:
        """The number of requests that came through ASGI, for both servers."""
        direct, asgi = (surfaces.count for surfaces in self._surfaces)
        return direct, asgi

    @property
    def counts(self) -> tuple[Mapping[tuple[str, int], int], Mapping[tuple[str, int], int]]:
        return self.metrics[0].counts, self.metrics[1].counts


def _exchange(port: int, pieces: Sequence[bytes], attempts: int = 3) -> bytes:
    answers = b""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for piece in pieces:
                connection.sendall(piece)
            while received := connection.recv(65_536):
                answers += received
    except ConnectionError:
        # After a refusal, the server reads and drops the rest for two seconds. A busy machine may need longer to send it.
        if attempts == 1:
            raise
        return _exchange(port, pieces, attempts - 1)
    return _ID_AND_DATE.sub(b"", answers)
