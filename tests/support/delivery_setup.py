"""A small plant with webhooks: a real store, a manual clock, and a sender that answers as configured."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant
from domogate.domain.events import Change
from domogate.domain.ids import Id, new_id
from domogate.domain.people import Client, Grant, Principal, Scope, TokenKind, User
from domogate.domain.plants import Member, Module, Plant, PlantType, Topology
from domogate.domain.states import LightState, PlugState, Report, State, ThermostatFunction, ThermostatMode, ThermostatState
from domogate.domain.webhooks import Webhook, WebhookFormat
from domogate.families._chronothermostats import print_notification
from domogate.ports import Delivered, WebhookSender
from domogate.services.plants.read_model import ReadModel
from domogate.services.rights.identity_cache import IdentityCache
from domogate.services.webhooks.dispatcher import Dispatcher
from domogate.services.webhooks.formats import WebhookFormats
from domogate.services.webhooks.registration import Webhooks
from domogate.stores import SqlStore, sqlite_url
from support.clocks import ManualClock
from support.stores import an_id

OWNER = User(an_id(1), "owner@example.com", "Owner", "hash")
GUEST = User(an_id(2), "guest@example.com", "Guest", "hash")
APP = Client("app", "An app", scopes=tuple(Scope))
OTHER = Client("other", "Another app", scopes=tuple(Scope))
LAMPS = tuple(Module(an_id(20 + n), an_id(120 + n), f"Lamp {n}", DeviceKind.LIGHT) for n in range(6))
THERMOSTAT = Module(an_id(40), an_id(140), "Thermostat", DeviceKind.CHRONOTHERMOSTAT)
PLUG = Module(an_id(41), an_id(141), "Plug", DeviceKind.PLUG)
HOME = an_id(10)
SOURCE = "https://gateway.example"
GIVEN_UP = 3 * 86_400.0
PATIENCE = 60.0


def a_plant(plant_id: Id = HOME, modules: tuple[Module, ...] = (*LAMPS, THERMOSTAT, PLUG), name: str = "Home") -> EstatePlant:
    owner, guest = Member(OWNER.id, OWNER.email), Member(GUEST.id, GUEST.email)
    internal = Id(plant_id.replace("0000-0000-0000", "0000-0000-0001", 1))
    plant = Plant(plant_id, internal, name, PlantType.HOUSE, owner, allowed=(guest,))
    return EstatePlant(plant, Topology((), (), modules))


ESTATE = Estate(users=(OWNER, GUEST), clients=(APP, OTHER), plants=(a_plant(),))


class RecordingSender:
    """A sender without network: it records the posts, and returns `answer`."""

    def __init__(self) -> None:
        self.got: list[tuple[str, bytes, Mapping[str, str]]] = []
        self.answer: int | Exception | Delivered | Callable[[str, Any], Any] = 200
        self.refused: Exception | None = None

    async def check_url(self, url: str) -> None:
        if self.refused is not None:
            raise self.refused

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Delivered:
        self.got.append((url, body, headers))
        answer = self.answer
        if callable(answer):
            answer = answer(url, msgspec.json.decode(body))
        if isinstance(answer, Awaitable):
            answer = await answer
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Delivered) else Delivered(answer)

    def cursors(self, url: str | None = None) -> list[int]:
        """The cursors of the posts, in their order."""
        return [int(headers["webhook-id"].rpartition("_")[2]) for to, _, headers in self.got if url in (None, to)]

    def events(self, url: str | None = None) -> list[Any]:
        return [msgspec.json.decode(body) for to, body, _ in self.got if url in (None, to)]


class RecordedAudit:
    """An audit log that records its entries."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, str]] = []

    def note(self, action: str, *, who: str, what: str, result: str, address: str = "", detail: Any = None) -> None:
        self.entries.append((action, who))


class DeliverySetup:
    """Store, read model, dispatcher, and the service that registers webhooks."""

    def __init__(self, store: SqlStore, clock: ManualClock, webhook_sender: WebhookSender, **arguments: Any) -> None:
        self.store = store
        self.clock = clock
        self.identities = IdentityCache(store)
        self.read_model = ReadModel(store, max_modules=100_000)
        self.notes = RecordedAudit()
        self.formats = WebhookFormats(SOURCE, {WebhookFormat.THERMOSTAT: print_notification})
        told: dict[str, Any] = {
            "given_up": GIVEN_UP,
            "dead_kept": 30 * 86_400.0,
            "may_prune": AsyncMock(return_value=True),
            "check_every": 0.02,
            **arguments,
        }
        self.dispatcher = Dispatcher(
            store, self.identities, self.read_model, webhook_sender, clock, self.formats, self.notes, **told
        )
        self.webhooks = Webhooks(store, self.read_model, webhook_sender, clock, self.notes, self.formats, self.dispatcher.log)
        self.changes: list[Change] = []
        store.listen(self._apply)

    def _apply(self, changes: Any) -> None:
        self.changes += changes
        self.read_model.apply(changes)
        self.identities.apply(changes)
        self.dispatcher.apply(changes)

    async def grant_access(self, user: User = OWNER, client: Client = APP, scopes: tuple[str, ...] = tuple(Scope)) -> Principal:
        grant = Grant(new_id(), user.id, client.id, scopes, created_at=self.clock.now())
        await self.store.add_grant(grant)
        return Principal(
            user.id, client.id, grant.id, TokenKind.ID, frozenset(scopes), self.clock.now() + 3600, grant.flow, False,
            user.standing,
        )  # fmt: skip

    async def register(self, url: str = "https://receiver.example/", who: Principal | None = None, **told: Any) -> Webhook:
        return await self.webhooks.register(who or await self.grant_access(), told.pop("plant_id", HOME), url, **told)

    async def report(self, module: Module = LAMPS[0], level: int | None = None, plant_id: Id = HOME, **told: Any) -> int:
        """Report a new state. Returns its cursor."""
        level = len(self.changes) % 101 if level is None else level
        await self.store.record([Report(plant_id, module.id, self.clock.now(), _state(module, level), **told)])
        return self.changes[-1].cursor

    async def settle(self) -> None:
        """Wait until no delivery is running or due."""
        await self.until(lambda: self.dispatcher.idle)

    async def pass_time(self, seconds: float) -> None:
        """Advance the clock, and wait until all due deliveries are done."""
        self.clock.advance(seconds)
        await self.settle()

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not holds():
                await asyncio.sleep(0.002)

    async def find(self, webhook: Webhook) -> Webhook:
        found = await self.store.find_webhook(webhook.id)
        assert found is not None
        return found


def running_deliveries() -> list[asyncio.Task[Any]]:
    """The tasks that deliver webhooks now."""
    return [task for task in asyncio.all_tasks() if task.get_name().startswith("webhook ")]


def _state(module: Module, level: int) -> State:
    if module.kind is DeviceKind.CHRONOTHERMOSTAT:
        return ThermostatState(function=ThermostatFunction.HEATING, mode=ThermostatMode.MANUAL, set_point=10 + level / 10)
    return LightState(on=True, level=level) if module.kind is DeviceKind.LIGHT else PlugState(on=bool(level % 2))


@asynccontextmanager
async def open_delivery_setup(
    path: Path,
    webhook_sender: WebhookSender,
    clock: ManualClock | None = None,
    *,
    estate: Estate | None = ESTATE,
    **arguments: Any,
) -> AsyncIterator[DeliverySetup]:
    """A started setup. A second one on the same path is another gateway on the same store."""
    clock = clock or ManualClock()
    store = SqlStore(sqlite_url(path), clock=clock, temporary=True)
    one = DeliverySetup(store, clock, webhook_sender, **arguments)
    await store.start()
    try:
        if estate is not None:
            await store.import_estate(estate, prune=False)
        await one.dispatcher.start()
        yield one
    finally:
        await one.dispatcher.stop()
        await store.stop()


def copied(source: Path, folder: Path) -> Path:
    return Path(shutil.copy(source, folder / "domogate.db"))
