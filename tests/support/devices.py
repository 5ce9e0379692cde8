"""A manual clock, a store in memory and a fake driver, for tests around devices."""

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any
from uuid import UUID

import msgspec

from domogate.domain.commands import Command, Order, OrderEnd, OrderRecord, OrderState
from domogate.domain.devices import DeviceKind
from domogate.domain.estate import FirstState
from domogate.domain.events import Change, PlantChanged, StateChanged
from domogate.domain.faults import DeviceRefused
from domogate.domain.ids import Id, new_id
from domogate.domain.injections import InjectedFault, Injection
from domogate.domain.plants import Member, Module, Plant, PlantStatus, PlantType, Topology
from domogate.domain.reachability import Absence
from domogate.domain.safety import SpareParts
from domogate.domain.states import LightState, Reading, Report, State
from domogate.ports import AttachedModule, Clock, Listener, Picture, ReportSink, StoredPlant, StoredState

NOON = 1_763_208_000.0
"""2025-11-15 12:00 UTC"""


class StillClock:
    """Time passes only when a test moves it."""

    def __init__(self, at: float = NOON) -> None:
        self.at = at

    def now(self) -> float:
        return self.at

    def pass_by(self, seconds: float) -> None:
        self.at += seconds


class LoopClock(StillClock):
    """Follows the time of the running loop, so that no deadline is met or missed by chance."""

    def now(self) -> float:
        return self.at + asyncio.get_running_loop().time()


def make_id(number: int) -> Id:
    return Id(f"00000000-0000-4000-8000-{number:012x}")


_made: Counter[str] = Counter()


def _repeatable_id() -> Id:
    """The same id in every run of the same test: the id decides what a simulated module does."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0]
    _made[test] += 1
    return Id(str(UUID(bytes=sha256(f"{test}/{_made[test]}".encode()).digest()[:16], version=4)))


def make_module(kind: DeviceKind, module_id: Id | None = None, **fields: Any) -> Module:
    module_id = module_id or _repeatable_id()
    return Module(id=module_id, internal_id=module_id, name=f"a {kind}", kind=kind, **fields)


def make_placed(kind: DeviceKind, state: State | None = None, *, reachable: bool = True, **fields: Any) -> AttachedModule:
    module = make_module(kind, **fields)
    return AttachedModule(module, FirstState(module.id, state, reachable), 0.0 if state is None else NOON)


def make_order(
    plant_id: Id, module_id: Id, command: Command, *, deadline: float = NOON + 1e9, order_id: str | None = None
) -> Order:
    return Order(order_id or new_id(), plant_id, module_id, command, deadline)


class FakeStore:
    """The part of the store that devices need, in memory. `records` are the commits."""

    def __init__(self) -> None:
        self.plants: dict[Id, StoredPlant] = {}
        self.records: list[list[Report]] = []
        self.readings: dict[Id, list[tuple[str, Reading]]] = {}
        self.loads: list[Id] = []
        self.fails_on: Callable[[Sequence[Report]], bool] = lambda reports: False
        self.gate: asyncio.Event | None = None
        """When set to an Event, records wait for it."""
        self.orders: dict[str, OrderRecord] = {}
        self.keeps_orders = True
        """When False, no order can be written."""
        self._writing: asyncio.Task[None] | None = None
        self._listeners: list[Listener] = []
        self._cursor = 0

    # filling it

    def add_plant(self, *modules: Module, plant_id: Id | None = None, states: dict[Id, StoredState] | None = None) -> Id:
        plant_id = plant_id or new_id()
        owner = Member(make_id(1), "anna@example.com")
        plant = Plant(plant_id, plant_id, "Casa", PlantType.HOUSE, owner)
        self.plants[plant_id] = StoredPlant(plant, Topology(modules=modules), states or {}, self._cursor)
        return plant_id

    def change_plant(self, plant_id: Id, *modules: Module, status: PlantStatus = PlantStatus.ACTIVE) -> None:
        stored = self.plants[plant_id]
        self.plants[plant_id] = msgspec.structs.replace(
            stored, plant=msgspec.structs.replace(stored.plant, status=status), topology=Topology(modules=modules)
        )
        self._tell(PlantChanged(plant_id=plant_id, user_ids=()))

    def _tell(self, *events: StateChanged | PlantChanged) -> None:
        changes = []
        for event in events:
            self._cursor += 1
            changes.append(Change(self._cursor, 0.0, event))
        for listener in self._listeners:
            listener(changes)

    def find_state(self, plant_id: Id, module_id: Id) -> StoredState | None:
        return self.plants[plant_id].states.get(module_id)

    def state_of(self, plant_id: Id, module_id: Id) -> StoredState:
        return self.plants[plant_id].states[module_id]

    def absence_of(self, plant_id: Id, module_id: Id) -> Absence:
        absence = self.state_of(plant_id, module_id).absence
        assert absence is not None
        return absence

    @property
    def reports(self) -> list[Report]:
        return [report for record in self.records for report in record]

    # the port

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    async def find_plant(self, plant_id: Id) -> StoredPlant | None:
        self.loads.append(plant_id)
        stored = self.plants.get(plant_id)
        await asyncio.sleep(0)
        return None if stored is None else msgspec.structs.replace(stored, states=dict(stored.states))

    async def list_plant_ids(self, driver: str, limit: int) -> tuple[Id, ...]:
        await asyncio.sleep(0)
        driven = (
            plant_id
            for plant_id, stored in sorted(self.plants.items())
            if stored.plant.status is PlantStatus.ACTIVE
            and any(module.driver == driver for module in stored.topology.every_module())
        )
        return tuple(driven)[:limit]

    async def record(self, reports: Sequence[Report]) -> None:
        # As the port promises: in the order of the calls, and taken up even if the caller is cancelled.
        self._writing = asyncio.create_task(self._write(self._writing, reports))
        await asyncio.shield(self._writing)

    async def _write(self, earlier: "asyncio.Task[None] | None", reports: Sequence[Report]) -> None:
        if earlier is not None:
            await asyncio.wait((earlier,))
        if self.gate is not None:
            await self.gate.wait()
        if self.fails_on(reports):
            raise OSError("disk full")
        if reports:
            self.records.append(list(reports))
        for report in reports:
            self._keep(report)

    def _keep(self, report: Report) -> None:
        states = self.plants[Id(report.plant_id)].states
        module_id = Id(report.module_id)
        before = states.get(module_id)
        state = report.state if report.state is not None or before is None else before.state
        states[module_id] = StoredState(state, report.reachable, report.at, report.absence)
        self.readings.setdefault(module_id, []).extend(report.readings)
        self._tell(
            StateChanged(
                plant_id=Id(report.plant_id),
                module_id=module_id,
                state=state,
                reachable=report.reachable,
                at=report.at,
                absence=report.absence,
            )
        )

    # orders

    async def add_orders(self, orders: Sequence[Order], at: float, *, sent: bool) -> Sequence[OrderRecord | None]:
        await asyncio.sleep(0)
        if not self.keeps_orders:
            raise OSError("disk full")
        known = [self.orders.get(order.id) for order in orders]
        state = OrderState.SENT if sent else OrderState.QUEUED
        for order in orders:
            self.orders.setdefault(order.id, OrderRecord(order, state, at, at if sent else None))
        return known

    async def mark_sent(self, order_id: str, at: float) -> bool:
        await asyncio.sleep(0)
        record = self.orders.get(order_id)
        if record is None or record.state is not OrderState.QUEUED or at >= record.order.deadline:
            return False
        self.orders[order_id] = msgspec.structs.replace(record, state=OrderState.SENT, sent_at=at)
        return True

    async def end_order(self, end: OrderEnd, report: Report | None = None) -> None:
        # As the port promises: with its report, in the order of the calls.
        await self.record(() if report is None else (report,))
        record = self.orders.get(end.order_id)
        if record is not None and record.ended_at is None:
            self.orders[end.order_id] = msgspec.structs.replace(record, state=end.state, ended_at=end.at, problem=end.problem)

    async def settle_orders(self, at: float) -> int:
        ends = {OrderState.QUEUED: OrderState.EXPIRED, OrderState.SENT: OrderState.UNKNOWN}
        late = [record for record in self.orders.values() if record.state in ends and record.order.deadline <= at]
        for record in late:
            self.orders[record.order.id] = msgspec.structs.replace(record, state=ends[record.state], ended_at=at)
        return len(late)

    async def find_order(self, order_id: str) -> OrderRecord | None:
        await asyncio.sleep(0)
        return self.orders.get(order_id)

    async def list_orders(
        self, plant_id: Id | None, module_id: Id | None, state: OrderState | None, before: float | None, limit: int
    ) -> Sequence[OrderRecord]:
        await asyncio.sleep(0)
        return [record for record in reversed(self.orders.values()) if state in (None, record.state)][:limit]

    # faults on demand

    async def inject(self, plant_id: Id, injections: Sequence[Injection]) -> bool:
        stored = self.plants[plant_id]
        new = {(injection.module_id, injection.fault) for injection in injections}
        kept = [old for old in stored.injections if (old.module_id, old.fault) not in new]
        filled = [self._fill(stored, injection) for injection in injections]
        self.plants[plant_id] = msgspec.structs.replace(stored, injections=(*kept, *filled))
        self._tell(PlantChanged(plant_id=plant_id, user_ids=()))
        return True

    def _fill(self, stored: StoredPlant, injection: Injection) -> Injection:
        known = stored.states.get(injection.module_id) if injection.module_id else None
        overlay = injection.fault in (InjectedFault.BATTERY, InjectedFault.FAILURE)
        return msgspec.structs.replace(injection, covers=known.state) if known and overlay else injection

    async def clear_injections(
        self,
        plant_id: Id | None,
        module_id: Id | None = None,
        fault: InjectedFault | None = None,
        *,
        ended_by: float | None = None,
    ) -> int:
        cleared = 0
        for found_id, stored in tuple(self.plants.items()):
            gone = [
                old
                for old in stored.injections
                if plant_id in (None, found_id)
                and module_id in (None, old.module_id)
                and fault in (None, old.fault)
                and (ended_by is None or not old.holds(ended_by))
            ]
            if gone:
                cleared += len(gone)
                kept = tuple(old for old in stored.injections if old not in gone)
                self.plants[found_id] = msgspec.structs.replace(stored, injections=kept)
                for old in gone:
                    if old.covers is not None and old.module_id is not None:
                        known = stored.states[old.module_id]
                        stored.states[old.module_id] = msgspec.structs.replace(known, state=old.covers, at=0.0)
                self._tell(PlantChanged(plant_id=found_id, user_ids=()))
        return cleared

    async def list_injections(self) -> Sequence[tuple[Id, Injection]]:
        await asyncio.sleep(0)
        return [(plant_id, injection) for plant_id, stored in self.plants.items() for injection in stored.injections]

    # the rest of the ports

    async def find_spare_parts(self, unit: str) -> SpareParts | None:
        return None

    async def list_plants_of(self, user_id: Id) -> tuple[tuple[Plant, ...], int]:
        return tuple(stored.plant for stored in self.plants.values() if stored.plant.owner.user_id == user_id), self._cursor

    async def list_plants(self, after: Id | None, limit: int) -> Sequence[Plant]:
        raise NotImplementedError

    async def set_plant_status(self, plant_id: Id, status: PlantStatus, at: float) -> None:
        raise NotImplementedError

    async def set_module_options(self, module_id: Id, options: dict[str, Any]) -> bool:
        raise NotImplementedError

    # history

    async def list_readings(self, module_id: Id, since: float, until: float, limit: int) -> Sequence[tuple[str, Reading]]:
        found = [(what, reading) for what, reading in self.readings.get(module_id, ()) if since <= reading.at <= until]
        return found[:limit]

    async def prune_authorization(self, at: float, token_lifetime: float = 0.0) -> None:
        self.forgot_authorization_at = at

    async def prune_orders(self, before: float) -> None:
        self.orders = {key: record for key, record in self.orders.items() if record.queued_at >= before}


class ObedientDriver:
    """Remembers its calls, and gives the answers that the test has set."""

    def __init__(self, clock: Clock, name: str = "simulator") -> None:
        self.name = name
        self.clock = clock
        self.attached: dict[Id, dict[Id, AttachedModule]] = {}
        self.most_attached = 0
        self.attachments: list[Id] = []
        self.orders: list[Order] = []
        self.questions: list[Id] = []
        self.running = False
        self.answer: State | None = LightState(on=True)
        self.answers: dict[Id, State] = {}
        """By module, where it differs from `answer`."""
        self.trouble: BaseException | None = None
        """Raised instead of answering."""
        self.attach_trouble: dict[Id, Exception] = {}
        self.pause: asyncio.Event | None = None
        """When set to an Event, orders and questions wait for it."""
        self.attach_pause: asyncio.Event | None = None
        self.cancelled = 0
        self.starts = 0
        self.failure: asyncio.Future[Exception]
        """Set a result, and the whole driver fails."""
        self.report: ReportSink

    async def start(self, report: ReportSink) -> None:
        self.report, self.running = report, True
        self.starts += 1
        self.failure = asyncio.get_running_loop().create_future()

    async def wait_failed(self) -> Exception:
        return await asyncio.shield(self.failure)

    async def stop(self) -> None:
        self.running = False
        self.attached.clear()

    async def attach(self, plant_id: Id, modules: Sequence[AttachedModule]) -> None:
        if self.attach_pause is not None:
            await self.attach_pause.wait()
        if plant_id in self.attach_trouble:
            raise self.attach_trouble[plant_id]
        self.attachments.append(plant_id)
        self.attached[plant_id] = {placed.module.id: placed for placed in modules}
        self.most_attached = max(self.most_attached, len(self.attached))

    async def detach(self, plant_id: Id) -> None:
        await asyncio.sleep(0)
        self.attached.pop(plant_id, None)

    async def execute(self, order: Order) -> Report:
        assert order.module_id in self.attached[order.plant_id]
        self.orders.append(order)
        return await self._answer(order.plant_id, order.module_id)

    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report:
        assert module_id in self.attached[plant_id]
        self.questions.append(module_id)
        return await self._answer(plant_id, module_id)

    async def take_picture(self, plant_id: Id, module_id: Id, deadline: float) -> Picture:
        raise DeviceRefused("this driver has no camera")

    async def _answer(self, plant_id: Id, module_id: Id) -> Report:
        try:
            if self.pause is not None:
                await self.pause.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.trouble is not None:
            raise self.trouble
        return Report(plant_id, module_id, self.clock.now(), state=self.answers.get(module_id, self.answer))
