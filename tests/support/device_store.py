"""A store in memory for tests around devices."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from domogate.domain.commands import Order, OrderEnd, OrderRecord, OrderState
from domogate.domain.events import Change, PlantChanged, StateChanged
from domogate.domain.ids import Id, new_id
from domogate.domain.injections import InjectedFault, Injection
from domogate.domain.plants import Member, Module, Plant, PlantStatus, PlantType, Topology
from domogate.domain.reachability import Absence
from domogate.domain.safety import SpareParts
from domogate.domain.states import Reading, Report
from domogate.ports import Listener, OrderFilter, StoredPlant, StoredState
from support.devices import make_id


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

    # content

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
        # As the port requires: in the order of the calls, and also if the caller is cancelled.
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

    async def mark_sent(self, plant_id: Id, order_id: str, at: float) -> bool:
        await asyncio.sleep(0)
        record = self.orders.get(order_id)
        if record is None or record.state is not OrderState.QUEUED or at >= record.order.deadline:
            return False
        self.orders[order_id] = msgspec.structs.replace(record, state=OrderState.SENT, sent_at=at)
        return True

    async def end_order(self, plant_id: Id, end: OrderEnd, report: Report | None = None) -> None:
        # As the port requires: with its report, in the order of the calls.
        await self.record(() if report is None else (report,))
        record = self.orders.get(end.order_id)
        if record is not None and record.ended_at is None:
            self.orders[end.order_id] = msgspec.structs.replace(record, state=end.state, ended_at=end.at, problem=end.problem)

    async def end_overdue_orders(self, at: float) -> int:
        ends = {OrderState.QUEUED: OrderState.EXPIRED, OrderState.SENT: OrderState.UNKNOWN}
        late = [record for record in self.orders.values() if record.state in ends and record.order.deadline <= at]
        for record in late:
            self.orders[record.order.id] = msgspec.structs.replace(record, state=ends[record.state], ended_at=at)
        return len(late)

    async def find_order(self, order_id: str) -> OrderRecord | None:
        await asyncio.sleep(0)
        return self.orders.get(order_id)

    async def list_orders(self, wanted: OrderFilter, limit: int, before: float | None = None) -> Sequence[OrderRecord]:
        await asyncio.sleep(0)
        # As in the store, orders that were queued at the same time are sorted by their id, as text.
        newest_first = sorted(self.orders.values(), key=lambda record: (record.queued_at, record.order.id), reverse=True)
        listed = (one for one in newest_first if wanted.state in (None, one.state))
        return [one for one in listed if not (wanted.only_open and one.ended_at)][:limit]

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
        return [stored.plant for plant_id, stored in sorted(self.plants.items()) if after is None or plant_id > after][:limit]

    async def set_plant_status(self, plant_id: Id, status: PlantStatus, at: float) -> None:
        stored = self.plants[plant_id]
        plant = msgspec.structs.replace(stored.plant, status=status)
        self.plants[plant_id] = msgspec.structs.replace(stored, plant=plant)
        self._tell(PlantChanged(plant_id=plant_id, user_ids=()))

    async def set_module_options(self, module_id: Id, options: dict[str, Any]) -> bool:
        for plant_id, stored in self.plants.items():
            modules = {module.id: module for module in stored.topology.modules}
            if module_id in modules:
                modules[module_id] = msgspec.structs.replace(modules[module_id], options=options)
                topology = Topology(modules=tuple(modules.values()))
                self.plants[plant_id] = msgspec.structs.replace(stored, topology=topology)
                self._tell(PlantChanged(plant_id=plant_id, user_ids=()))
                return True
        return False

    # history

    async def list_readings(self, module_id: Id, since: float, until: float, limit: int) -> Sequence[tuple[str, Reading]]:
        found = [(what, reading) for what, reading in self.readings.get(module_id, ()) if since <= reading.at <= until]
        return found[:limit]

    async def prune_authorization(self, at: float, token_lifetime: float = 0.0) -> None:
        pass

    async def prune_orders(self, before: float) -> None:
        self.orders = {key: record for key, record in self.orders.items() if record.queued_at >= before}
