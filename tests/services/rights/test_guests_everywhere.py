"""A module outside the limits of a guest is shown by no operation, stream, webhook or ticket, for any plant and limits."""

import asyncio
import json
from typing import Any
from unittest.mock import AsyncMock, MagicMock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domogate.domain.devices import DeviceKind
from domogate.domain.events import Change, StateChanged
from domogate.domain.faults import DeviceOffline
from domogate.domain.ids import HEX32, Id
from domogate.domain.limits import Limits
from domogate.domain.people import Client, Grant, GrantType, Principal, Scope, Standing, TokenKind, User
from domogate.domain.plants import Ambient, Member, Module, Plant, PlantType, SceneDetail, Topology
from domogate.domain.states import State
from domogate.domain.webhooks import Webhook
from domogate.families import FAMILIES
from domogate.families._call import Services
from domogate.families._family import PLACEHOLDER, Family, Operation
from domogate.families._serve import FamilyApp
from domogate.ports import Admitted, StoredPlant, StoredState
from domogate.services.events.filters import EventFilter
from domogate.services.events.frames import frame_notice, print_present
from domogate.services.events.notices import find_notice
from domogate.services.events.stream_rights import StreamContext, StreamRights
from domogate.services.plants.read_model import ModuleView, ReadModel
from domogate.services.rights.access import READ_SCOPE, Caller
from domogate.services.rights.identity_cache import IdentityCache
from domogate.services.tickets import NotRedeemed
from domogate.services.tickets.permits import Permit, TicketAction
from domogate.services.tickets.rights import KIND_OF, TicketRights
from domogate.services.webhooks.rights import WebhookRights
from support.clocks import NOW, ManualClock
from support.estate_strategies import topologies
from support.examples import examples
from support.stores import an_id

pytestmark = pytest.mark.slow

OWNER, GUEST = (User(an_id(number), f"{number}@example.com", password_hash="hash") for number in (0xA0000001, 0xA0000002))
APP = Client("app", "App", scopes=tuple(Scope))
PLANT_ID = an_id(0xA0000010)
CLOCK = ManualClock(NOW)
SOURCE = "https://gateway.example"
GRANT = Grant(an_id(0xA0000050), GUEST.id, APP.id, tuple(Scope))
BODIES = {
    "E1": {"status": "on"},
    "E5": {"status": "run"},
    "X1": {"mode": "off"},
    "X2": {"status": "on"},
    "X6": {"EndPointUrl": "https://receiver.example/"},
}
TOPOLOGIES = ("E3", "E7", "E9", "X4")
SHOWN_IN = {
    "E3": {"plug", "heater", "light", "automation", "energymeter", "remote"},
    "E7": {"light", "automation", "scene"},
    "E9": {"audiovideo unit", "gateway", "light", "lock", "activation"},
    "X4": {"chronothermostat"},
}


def visible_modules(topology: Topology, limits: Limits) -> dict[Id, Module]:
    """Decided module by module, from the words of Decision 0058."""
    place: dict[Id, set[Id]] = {}
    for floor in topology.floors:
        for ambient in floor.ambients:
            place |= {module.id: {module.id, ambient.id, floor.id} for module in ambient.modules}
    for ambient in topology.ambients:
        place |= {module.id: {module.id, ambient.id} for module in ambient.modules}
    place |= {module.id: {module.id} for module in topology.modules}
    named = {*limits.floors, *limits.ambients, *limits.modules}
    within = {module_id for module_id, places in place.items() if places & named}
    seen = {}
    for module in topology.every_module():
        steps = module.detail.steps if isinstance(module.detail, SceneDetail) else ()
        in_no_room = bool(steps) and len(place[module.id]) == 1
        if (module.id in within or in_no_room) and all(step.module_id in within for step in steps):
            seen[module.id] = module
    return seen


@st.composite
def plants(draw: st.DrawFn) -> tuple[StoredPlant, Limits]:
    topology, first_states = draw(topologies().filter(lambda made: any(made[0].every_module())))
    modules = [module.id for module in topology.every_module()]
    choices = [
        *(("floors", floor.id) for floor in topology.floors),
        *(("ambients", ambient.id) for ambient in topology.every_ambient()),
        *(("modules", module_id) for module_id in modules),
    ]
    chosen = draw(st.lists(st.sampled_from(choices), min_size=1, max_size=3, unique=True))
    floors, ambients, named = (tuple(id for kind, id in chosen if kind == key) for key in ("floors", "ambients", "modules"))
    limits = Limits(floors, ambients, named)
    states = {first.module_id: StoredState(first.state, first.reachable, NOW) for first in first_states}
    site = any(module.kind is DeviceKind.EMERGENCY_CONTROLLER for module in topology.every_module())
    owner, guest = Member(OWNER.id, OWNER.email), Member(GUEST.id, GUEST.email, limits)
    plant = Plant(PLANT_ID, an_id(0xA0000011), "Hotel", PlantType.HOTEL, owner, allowed=(guest,), emergency_lighting=site)
    return StoredPlant(plant, topology, states, 1), limits


class FakeStore:
    def __init__(self, stored: StoredPlant) -> None:
        self.stored = stored

    async def find_plant(self, plant_id: Id) -> StoredPlant | None:
        return self.stored if plant_id == PLANT_ID else None

    async def list_plants_of(self, user_id: Id) -> tuple[tuple[Plant, ...], int]:
        return (self.stored.plant,), 1

    async def find_user(self, user_id: Id) -> User:
        return GUEST

    async def find_client(self, client_id: str) -> Client:
        return APP

    async def find_grant(self, grant_id: Id) -> Grant:
        return GRANT

    async def find_spare_parts(self, unit: str) -> None:
        return None


class FakeCredentials:
    """Admits every key, and takes every token for one of the guest."""

    def __init__(self, kind: TokenKind) -> None:
        self.principal = Principal(
            GUEST.id, APP.id, GRANT.id, kind, frozenset(Scope), NOW + 3600, GrantType.AUTHORIZATION_CODE, False, Standing.GOOD
        )

    def admit_known(self, key: bytes) -> Admitted:
        return Admitted(an_id(0xA0000070))

    async def recognise(self, key: bytes) -> float:
        return NOW + 3600

    def find_verified(self, token: bytes) -> Principal:
        return self.principal


class Gateway:
    """All parts that check rights, for one plant. `touched` are the modules that were read, commanded or ticketed."""

    def __init__(self, stored: StoredPlant) -> None:
        store: Any = FakeStore(stored)
        self.topology = stored.topology
        self.read_model = ReadModel(store, max_modules=1000)
        self.identities = IdentityCache(store)
        self.touched: set[Id] = set()
        self.answered: dict[str, list[Any]] = {}
        control = MagicMock(
            find_fresh=self._find,
            read_state=self._read,
            refresh=AsyncMock(),
            check_reachable=self._read,
            execute=self._execute,
            switch_plugs=self._plugs,
        )
        webhooks = MagicMock(
            register=AsyncMock(return_value=MagicMock(id=an_id(0xA0000080))), list_own=AsyncMock(return_value=[])
        )
        self.services: Any = MagicMock(
            spec=Services,
            read_model=self.read_model,
            control=control,
            scenes=MagicMock(run_scene=self._run_scene),
            tickets=MagicMock(mint_ticket=self._mint),
            webhooks=webhooks,
            clock=CLOCK,
            audit=MagicMock(),
            removed_plants_kept=0.0,
        )

    def _find(self, view: ModuleView) -> State | None:
        self.touched.add(view.module.id)
        return view.state

    async def _read(self, view: ModuleView) -> State:
        if (state := self._find(view)) is None:
            raise DeviceOffline("it is offline")
        return state

    async def _execute(self, _plant_id: Id, module_id: Id, _command: object, *, by: Id | None = None) -> None:
        self.touched.add(module_id)

    async def _plugs(self, _plant_id: Id, ambient: Ambient, *, on: bool, by: Id | None = None) -> None:
        self.touched.update(module.id for module in ambient.modules)

    async def _run_scene(self, _plant_id: Id, scene: Module, *, by: Id | None = None) -> None:
        assert isinstance(scene.detail, SceneDetail)
        self.touched.update((scene.id, *(step.module_id for step in scene.detail.steps)))

    async def _mint(self, _principal: Principal, _plant_id: Id, module_id: Id, _action: TicketAction) -> str:
        self.touched.add(module_id)
        return "a ticket"

    async def call_everything(self) -> str:
        """The bodies of the answers of all operations for all modules and ambients."""
        bodies = []
        for family in FAMILIES:
            credentials: Any = FakeCredentials(next(iter(family.tokens)))
            app = FamilyApp(family, self.services, admission=credentials, verifier=credentials, max_body=10_000, sunset={})
            for operation in family.operations:
                if operation.id in ("E19", "E20", "X8"):  # they show no module
                    continue
                for path in self._paths(family, operation):
                    status, body = await _call(app, operation, path)
                    assert status != 500 or b"offline" in body, (operation.id, body)
                    self.answered.setdefault(operation.id, []).append((status, body))
                    bodies.append(body.decode())
        return "\n".join(bodies)

    def _paths(self, family: Family, operation: Operation) -> list[str]:
        roles = {parameter.role for parameter in operation.parameters}
        targets: list[Id] = [PLANT_ID]
        if "module" in roles:
            targets = [module.id for module in self.topology.every_module()]
        elif "ambient" in roles:
            targets = [ambient.id for ambient in self.topology.every_ambient()]

        def path_to(target: Id) -> str:
            def fill(found: Any) -> str:
                return family.ids.print_id(PLANT_ID if found[2] == "plant" else target)

            return f"{family.prefix}/{PLACEHOLDER.sub(fill, operation.path)}"

        return [path_to(target) for target in targets]

    async def follow_everything(self) -> str:
        """The present states and an event of every module, as a stream of the guest gets them, and as a webhook does."""
        context: Any = StreamContext(MagicMock(), self.read_model, MagicMock(spec=()), MagicMock(spec=()), CLOCK, SOURCE)
        principal = FakeCredentials(TokenKind.ACCESS).principal
        rights = StreamRights(context, Caller(principal, Admitted(an_id(0xA0000070)), b"key", b"token"), EventFilter())
        rights.plants = {PLANT_ID}
        access = await rights.get_access(PLANT_ID)
        every = [module.id for module in self.topology.every_module()]
        got = [print_present(access, every, EventFilter(), source=SOURCE, cursor=1, now=NOW)]
        webhook: Any = MagicMock(
            spec=Webhook, plant_id=PLANT_ID, grant_id=GRANT.id, user_id=GUEST.id, client_id=APP.id, scopes=tuple(Scope)
        )
        of_webhook = await WebhookRights(self.identities, self.read_model, CLOCK).get_access(webhook)
        whole = await self.read_model.get_plant(PLANT_ID)
        assert whole is not None
        for module_id in every:
            event = StateChanged(plant_id=PLANT_ID, module_id=module_id, state=None, reachable=True, at=NOW)
            change = Change(7, NOW, event)
            notice = find_notice(change, whole)
            if notice is not None and await rights.may_see(notice):
                got.append(frame_notice(notice, access.plant, SOURCE))
            notice = find_notice(change, of_webhook.plant)
            if notice is not None and of_webhook.may_get(notice):
                got.append(frame_notice(notice, of_webhook.plant, SOURCE))
        return b"".join(got).decode()

    async def can_redeem(self, module: Module, action: TicketAction) -> bool:
        permit = Permit(an_id(0xA0000061), GUEST.id, APP.id, GRANT.id, PLANT_ID, module.id, action, NOW, NOW + 60)
        try:
            await TicketRights(self.identities, self.read_model, CLOCK).get_module(permit)
        except NotRedeemed:
            return False
        return True


async def _call(app: FamilyApp, operation: Operation, path: str) -> tuple[int, bytes]:
    body = json.dumps(BODIES[operation.id]).encode() if operation.body is not None else b""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"ocp-apim-subscription-key", b"key"), (b"authorization", b"Bearer token")]
    await app({"method": operation.method, "raw_path": path.encode(), "headers": headers, "client": None}, receive, send)
    return sent[0]["status"], sent[1]["body"]


def check_hidden(text: str, hidden: set[Id]) -> None:
    for identity in hidden:
        assert identity not in text
        assert HEX32.print_id(identity) not in text


async def check(stored: StoredPlant, limits: Limits) -> None:
    gateway, seen = Gateway(stored), visible_modules(stored.topology, limits)
    hidden = {module.id for module in stored.topology.every_module()} - set(seen)
    check_hidden(await gateway.call_everything(), hidden)
    assert gateway.touched <= set(seen)
    for operation_id in TOPOLOGIES:
        ((status, body),) = gateway.answered[operation_id]
        assert status == 200
        for module in seen.values():
            if module.kind in SHOWN_IN[operation_id]:
                assert module.id.replace("-", "") in body.decode().replace("-", ""), (operation_id, module.kind)
    followed = await gateway.follow_everything()
    check_hidden(followed, hidden)
    for module in seen.values():
        if module.kind in READ_SCOPE:
            assert followed.count(f'"moduleId":"{module.id}"') == 3, "present, an event by stream, an event by webhook"
    for module in stored.topology.every_module():
        for action, kind in KIND_OF.items():
            assert await gateway.can_redeem(module, action) == (module.id in seen and module.kind is kind)


@settings(max_examples=examples(25), deadline=None, suppress_health_check=list(HealthCheck))
@given(made=plants())
def test_a_module_outside_the_limits_is_shown_nowhere(made: tuple[StoredPlant, Limits]) -> None:
    asyncio.run(check(*made))
