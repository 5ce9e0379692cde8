"""Families, streams, webhooks and tickets give the same answer as the rights module, for any estate and any principal."""

import asyncio
from typing import Any
from unittest.mock import MagicMock

from hypothesis import given, settings
from hypothesis import strategies as st

from domogate.domain.devices import DeviceKind
from domogate.domain.events import StateChanged
from domogate.domain.faults import Fault
from domogate.domain.ids import Id
from domogate.domain.notices import Notice, NoticeKind
from domogate.domain.people import Client, Grant, GrantType, Principal, Scope, Standing, TokenKind, User
from domogate.domain.plants import Member, Module, Plant, PlantStatus, PlantType, Topology
from domogate.domain.states import LightState
from domogate.domain.webhooks import Webhook
from domogate.families._call import Services
from domogate.families._serve import FamilyApp
from domogate.families.homeauto import FAMILY
from domogate.ports import Admitted, StoredPlant
from domogate.services.events.endings import Ended as StreamEnded
from domogate.services.events.filters import EventFilter
from domogate.services.events.stream_rights import StreamContext, StreamRights
from domogate.services.plants.read_model import PlantView, ReadModel
from domogate.services.rights.access import Access, Caller, get_access
from domogate.services.rights.identity_cache import IdentityCache
from domogate.services.tickets import NotRedeemed
from domogate.services.tickets.permits import Permit, TicketAction
from domogate.services.tickets.rights import TicketRights
from domogate.services.webhooks.rights import OnHold, WebhookEnded, WebhookRights
from support.clocks import NOW, ManualClock
from support.examples import examples
from support.stores import an_id

USERS = tuple(User(an_id(number), f"{number}@example.com", password_hash="hash") for number in (1, 2, 3))
APP = Client("app", "App", scopes=tuple(Scope))
LAMP = Module(an_id(20), an_id(120), "Lamp", DeviceKind.LIGHT)
LOCK = Module(an_id(21), an_id(121), "Lock", DeviceKind.LOCK)
PLANTS = (an_id(10), an_id(11))
CLOCK = ManualClock(NOW)


class FakeStore:
    """Some plants, the users, one client and one grant."""

    def __init__(self, plants: dict[Id, StoredPlant], grant: Grant, user: User) -> None:
        self.plants, self.grant, self.user = plants, grant, user

    async def find_plant(self, plant_id: Id) -> StoredPlant | None:
        return self.plants.get(plant_id)

    async def list_plants_of(self, user_id: Id) -> tuple[tuple[Plant, ...], int]:
        own = [it.plant for it in self.plants.values() if user_id in PlantView(it).members]
        return tuple(own), 1

    async def find_user(self, user_id: Id) -> User | None:
        return self.user if user_id == self.user.id else None

    async def find_client(self, client_id: str) -> Client | None:
        return APP if client_id == APP.id else None

    async def find_grant(self, grant_id: Id) -> Grant | None:
        return self.grant if grant_id == self.grant.id else None

    async def find_spare_parts(self, unit: str) -> None:
        return None


class FakeCredentials:
    """Admits one key and one token."""

    def __init__(self, principal: Principal) -> None:
        self.principal = principal

    def admit_known(self, key: bytes) -> Admitted:
        return Admitted(an_id(70))

    async def recognise(self, key: bytes) -> float:
        return NOW + 3600

    def find_verified(self, token: bytes) -> Principal:
        return self.principal


@st.composite
def estates(draw: st.DrawFn) -> dict[Id, StoredPlant]:
    plants = {}
    for number in PLANTS:
        if not draw(st.booleans()):
            continue
        owner, *allowed = draw(st.permutations(USERS).flatmap(lambda users: st.sampled_from([users[:1], users[:2], users])))
        plant = Plant(
            number,
            number,
            "Home",
            PlantType.HOUSE,
            Member(owner.id, owner.email),
            allowed=tuple(Member(user.id, user.email) for user in allowed),
            status=draw(st.sampled_from(PlantStatus)),
        )
        modules = draw(st.sampled_from([(), (LAMP,), (LOCK,), (LAMP, LOCK)]))
        plants[number] = StoredPlant(plant, Topology(modules=modules), {}, 1)
    return plants


principals = st.builds(
    lambda user, scopes, standing, plants: Principal(
        user.id,
        APP.id,
        an_id(50),
        TokenKind.ID,
        frozenset(scopes),
        NOW + 3600,
        GrantType.AUTHORIZATION_CODE,
        False,
        standing,
        plants,
    ),
    st.sampled_from(USERS),
    st.sets(st.sampled_from(Scope)),
    st.sampled_from(Standing),
    st.none() | st.frozensets(st.sampled_from(PLANTS)),
)


class RightsCheckers:
    """All parts that check rights, on one estate."""

    def __init__(self, plants: dict[Id, StoredPlant], principal: Principal) -> None:
        user = next(user for user in USERS if user.id == principal.user_id)
        self.user = User(user.id, user.email, password_hash="hash", standing=principal.standing)
        grant = Grant(principal.grant_id, user.id, APP.id, tuple(sorted(principal.scopes)), plants=principal.plants)
        store: Any = FakeStore(plants, grant, self.user)
        self.principal = principal
        self.read_model = ReadModel(store, max_modules=100)
        self.identities = IdentityCache(store)
        self.credentials: Any = FakeCredentials(principal)

    async def find_access(self, plant_id: Id) -> Access | None:
        """The answer of the rights module."""
        try:
            return get_access(self.principal, plant_id, await self.read_model.get_plant(plant_id), NOW)
        except Fault:
            return None

    async def family_shows_lamp(self, plant_id: Id) -> bool:
        control = MagicMock()
        control.find_fresh.return_value = LightState(on=True)
        services: Any = MagicMock(spec=Services, read_model=self.read_model, control=control, clock=CLOCK)
        app = FamilyApp(FAMILY, services, admission=self.credentials, verifier=self.credentials, max_body=1000, sunset={})
        path = f"{FAMILY.prefix}/light/lighting/addressLocation/plants/{plant_id}/modules/parameter/id/value/{LAMP.id}"
        headers = [(b"ocp-apim-subscription-key", b"key"), (b"authorization", b"Bearer token")]
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {"method": "GET", "raw_path": path.encode(), "headers": headers, "client": None}
        await app(scope, MagicMock(), send)
        assert sent[0]["status"] != 500
        return bool(sent[0]["status"] == 200)

    async def stream_shows_lamp(self, plant_id: Id, *, all_plants: bool) -> bool:
        store: Any = None
        context = StreamContext(store, self.read_model, self.credentials, self.credentials, CLOCK, "https://gateway.example")
        event_filter = EventFilter() if all_plants else EventFilter(plants=frozenset({plant_id}))
        rights = StreamRights(context, Caller(self.principal, Admitted(an_id(70)), b"key", b"token"), event_filter)
        event = StateChanged(plant_id=plant_id, module_id=LAMP.id, state=LightState(on=True), reachable=True, at=NOW)
        try:
            await rights.check()
        except StreamEnded:
            return False
        return await rights.may_see(Notice(7, NOW, event, (NoticeKind.STATE,)))

    async def webhook_shows_lamp(self, plant_id: Id) -> bool:
        webhook = Webhook(
            id=an_id(60), client_id=APP.id, user_id=self.user.id, grant_id=self.principal.grant_id, plant_id=plant_id,
            url="https://receiver.example/", secret="whsec_", created_at=NOW, position=1,
            scopes=tuple(self.principal.scopes),
        )  # fmt: skip
        try:
            access = await WebhookRights(self.identities, self.read_model, CLOCK).get_access(webhook)
        except (WebhookEnded, OnHold):
            return False
        return access.may_see(LAMP.id)

    async def ticket_opens_lock(self, plant_id: Id) -> bool:
        permit = Permit(
            an_id(61), self.user.id, APP.id, self.principal.grant_id, plant_id, LOCK.id, TicketAction.OPEN, NOW, NOW + 60
        )
        try:
            await TicketRights(self.identities, self.read_model, CLOCK).get_module(permit)
        except NotRedeemed:
            return False
        return True


async def check_agreement(plants: dict[Id, StoredPlant], principal: Principal) -> None:
    callers = RightsCheckers(plants, principal)
    good = principal.standing is Standing.GOOD
    for plant_id in PLANTS:
        access = await callers.find_access(plant_id)
        member = plant_id in plants and principal.user_id in PlantView(plants[plant_id]).members
        active = plant_id in plants and plants[plant_id].plant.status is PlantStatus.ACTIVE
        granted = principal.plants is None or plant_id in principal.plants
        assert (access is not None) == (active and member and granted)
        sees_lamp = access is not None and access.may_see(LAMP.id)
        assert await callers.family_shows_lamp(plant_id) == sees_lamp, "E8 does not list 469 and 470"
        assert await callers.stream_shows_lamp(plant_id, all_plants=False) == (sees_lamp and good)
        assert await callers.stream_shows_lamp(plant_id, all_plants=True) == (sees_lamp and good)
        assert await callers.webhook_shows_lamp(plant_id) == (sees_lamp and good)
        has_lock = access is not None and LOCK.id in access.plant.modules
        assert await callers.ticket_opens_lock(plant_id) == (has_lock and good and Scope.AUDIOVIDEO_READ in principal.scopes)


@settings(max_examples=examples(30), deadline=None)
@given(plants=estates(), principal=principals)
def test_all_callers_agree(plants: dict[Id, StoredPlant], principal: Principal) -> None:
    asyncio.run(check_agreement(plants, principal))
