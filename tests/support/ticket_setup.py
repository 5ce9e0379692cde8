"""A house with two locks and an entrance panel, in this process on a real store, with everything that redeems tickets.

The test moves the clock; the devices are simulated. Only the deadline for a device runs on the real clock.
"""

import json
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import jwt as pyjwt

from domogate import tickets
from domogate.domain.audit import AuditEntry
from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant
from domogate.domain.ids import Id, new_id
from domogate.domain.injections import InjectedFault, Injection
from domogate.domain.people import Client, Grant, GrantType, Principal, Scope, Standing, TokenKind, User
from domogate.domain.plants import Member, Module, Plant, PlantType, Topology
from domogate.domain.states import State
from domogate.drivers.simulator.simulator import Simulator
from domogate.fabric.in_process import InProcessFabric
from domogate.http_api.app import SurfaceApp
from domogate.identity.signing import KeyRing, TokenSigner
from domogate.ports import Clock
from domogate.services.audit import AuditLog
from domogate.services.driving import Driving
from domogate.services.plants.control import Control
from domogate.services.plants.read_model import ReadModel
from domogate.services.rights.identity_cache import IdentityCache
from domogate.services.tickets import Redemption
from domogate.services.tickets.issuing import Tickets
from domogate.services.tickets.permits import TicketAction
from domogate.stores import SqlStore, sqlite_url
from support.clocks import ManualClock
from support.stores import an_id

BASE_URL = "https://gateway.example"
ISSUER = f"{BASE_URL}/auth"
DEADLINE = 60.0

OWNER = User(an_id(1), "anna@example.com", "Anna", "hash of Anna")
GUEST = User(an_id(2), "bruno@example.com", "Bruno", "hash of Bruno")
STRANGER = User(an_id(3), "carla@example.com", "Carla", "hash of Carla")
APP = Client("door-app", "The door app", scopes=(Scope.AUDIOVIDEO_READ, Scope.TOPOLOGY_READ))
GATE = Module(an_id(21), an_id(22), "Gate", DeviceKind.LOCK)
DOOR = Module(an_id(23), an_id(24), "Door", DeviceKind.LOCK)
PANEL = Module(an_id(25), an_id(26), "Entrance panel", DeviceKind.AUDIOVIDEO_UNIT)
LAMP = Module(an_id(27), an_id(28), "Lamp", DeviceKind.LIGHT)
HOUSE = Plant(
    an_id(10),
    an_id(11),
    "Casa Bianchi",
    PlantType.HOUSE,
    Member(OWNER.id, OWNER.email),
    allowed=(Member(GUEST.id, GUEST.email),),
)
ESTATE = Estate(
    users=(OWNER, GUEST, STRANGER),
    clients=(APP,),
    plants=(EstatePlant(HOUSE, Topology(modules=(GATE, DOOR, PANEL, LAMP)), ()),),
)
ADDRESS = "192.0.2.9"


class TicketSetup:
    """The house, its application, and the part of the gateway that redeems tickets."""

    def __init__(self, store: SqlStore, clock: ManualClock) -> None:
        self.store = store
        self.clock = clock
        self.keyring = KeyRing(store, clock)
        self.signer = TokenSigner(self.keyring, clock, ISSUER, BASE_URL, access_lifetime=3600.0, id_lifetime=3600.0)
        self.tickets = Tickets(self.signer, clock, ISSUER, 60.0)
        self.read_model = ReadModel(store, max_modules=1000)
        simulator = Simulator(clock, seed=1, tick=3600.0)
        self.driving = Driving(store, {"simulator": simulator}, clock, simulated_plants=10)
        self._fabric = InProcessFabric(clock)
        self._fabric.serve(self.driving)
        self.audit = AuditLog(store, clock)
        self.identities = IdentityCache(store)
        self.in_cluster = False
        """Whether the use of a ticket is stored as in a cluster. Call `set_deadline` after a change."""
        for listener in (self.keyring.apply, self.identities.apply, self.read_model.apply, self.driving.apply):
            store.listen(listener)
        self.set_deadline(DEADLINE)

    def from_address(self, address: str) -> httpx.AsyncClient:
        services = tickets.TicketServices(self.redemption, BASE_URL)
        app = SurfaceApp(tickets.SURFACE, services, tickets.PictureToken(), base_url=BASE_URL, version="1", max_body=20_000)
        return httpx.AsyncClient(transport=httpx.ASGITransport(app, client=(address, 1234)), base_url=BASE_URL)

    # tickets

    async def grant_access(
        self, user: User = OWNER, scopes: tuple[str, ...] = (Scope.AUDIOVIDEO_READ,), grant_id: Id | None = None
    ) -> Principal:
        """The principal of a token of the user for the application, with its own grant."""
        grant = Grant(grant_id or new_id(), user.id, APP.id, scopes, created_at=self.clock.now())
        if grant_id is None:
            await self.store.add_grant(grant)
        return Principal(
            user.id, APP.id, grant.id, TokenKind.ID, frozenset(scopes), self.clock.now() + 3600.0,
            GrantType.AUTHORIZATION_CODE, False, Standing.GOOD,
        )  # fmt: skip

    async def mint(
        self, action: TicketAction = TicketAction.OPEN, module: Module | None = None, who: Principal | None = None
    ) -> str:
        module = module or (GATE if action is TicketAction.OPEN else PANEL)
        return await self.tickets.mint_ticket(who or await self.grant_access(), HOUSE.id, module.id, action)

    async def forge(
        self, signed: str, claims: dict[str, Any] | None = None, header: dict[str, Any] | None = None, key: Any = None
    ) -> str:
        """The same token with other claims or header fields (None removes one), signed by PyJWT with the gateway's own key."""
        stored = [it for it in await self.store.list_signing_keys() if it.retired_at is None][-1]
        head = {**pyjwt.get_unverified_header(signed), **(header or {})}
        body = {**pyjwt.decode(signed, options={"verify_signature": False}), **(claims or {})}
        body = {name: value for name, value in body.items() if value is not None}
        own = pyjwt.PyJWK(json.loads(stored.jwk), algorithm=stored.algorithm).key
        algorithm = head.pop("alg")
        head = {name: value for name, value in head.items() if value is not None}
        return pyjwt.api_jws.encode(json.dumps(body).encode(), own if key is None else key, algorithm, headers=head)

    async def redeem(self, ticket: str) -> httpx.Response:
        return await self.http.post("/tickets/redeem", json={"ticket": ticket})

    async def look(self, token: str) -> httpx.Response:
        return await self.http.get("/tickets/picture", headers={"authorization": f"Bearer {token}"})

    async def switch_on(self, who: Principal | None = None) -> str:
        """The token for the panel's pictures."""
        answer = await self.redeem(await self.mint(TicketAction.VIDEO_OUT, who=who))
        assert answer.status_code == 200, answer.text
        token: str = answer.json()["picture"]["token"]
        return token

    # results

    async def state_of(self, module: Module) -> State | None:
        return (await self.driving.read(HOUSE.id, module.id, self.clock.now() + DEADLINE)).state

    async def inject(self, fault: InjectedFault, module: Module) -> None:
        assert await self.store.inject(HOUSE.id, (Injection(fault, module.id),))
        await self.driving.settled()

    def set_deadline(self, seconds: float) -> None:
        """Set the deadline of devices."""
        control = Control(self._fabric, self.store, self.clock, deadline=seconds, max_age=30.0, max_ages={})
        self.redemption = Redemption(
            self.store,
            self.signer,
            self.identities,
            self.read_model,
            control,
            self.clock,
            self.audit,
            ISSUER,
            in_cluster=self.in_cluster,
        )
        self.http = self.from_address(ADDRESS)

    async def entries(self) -> list[AuditEntry]:
        await self.audit.flush()
        return [record.entry for record in await self.audit.list(limit=1000)]


def problem_type(answer: httpx.Response, status: int) -> str:
    """Check that the answer is a problem (RFC 9457) without internal details. Return the reason, the last part of `type`."""
    assert answer.status_code == status, f"{answer.status_code}: {answer.text}"
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["cache-control"] == "no-store"
    body = answer.json()
    assert body.keys() == {"type", "title", "status", "detail"}
    assert body["status"] == status
    assert body["detail"].endswith(".")
    assert "Traceback" not in answer.text
    kind: str = body["type"]
    return kind.removeprefix("urn:domogate:ticket:")


_template = tempfile.TemporaryDirectory(prefix="domogate-tickets-")


@asynccontextmanager
async def open_ticket_setup(folder: Path) -> AsyncIterator[TicketSetup]:
    """The database is made once in each process, and copied for each test."""
    made = Path(_template.name) / "domogate.sqlite3"
    if not made.exists():
        async with _started(sqlite_url(made), ManualClock()) as store:
            await store.import_estate(ESTATE, prune=False)
    shutil.copy(made, folder)
    async with open_ticket_setup_on(sqlite_url(folder / made.name)) as opened:
        yield opened


@asynccontextmanager
async def open_ticket_setup_on(url: str) -> AsyncIterator[TicketSetup]:
    """On a store that already has the estate."""
    clock = ManualClock()
    async with _started(url, clock) as store:
        opened = TicketSetup(store, clock)
        await opened.keyring.start()
        await opened.driving.start()
        await opened.driving.start_plants()
        await opened.driving.settled()
        try:
            yield opened
        finally:
            await opened.http.aclose()
            await opened.driving.stop()


@asynccontextmanager
async def _started(url: str, clock: Clock) -> AsyncIterator[SqlStore]:
    store = SqlStore(url, clock=clock, gateway=True)
    await store.start()
    try:
        yield store
    finally:
        await store.stop()
