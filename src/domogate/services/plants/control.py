"""Asking modules and telling them what to do, within a deadline."""

import asyncio
import itertools
import secrets
from collections.abc import Mapping, Sequence
from typing import TypeVar

import structlog

from domogate.domain.commands import Command, Order, OrderRecord, OrderState, SceneStep, SwitchPlug, end_after
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import (
    DeviceOffline,
    DeviceRefused,
    DeviceTimeout,
    Fault,
    Internal,
    NoPlug,
    OrderKeyTaken,
    ValueOutOfRange,
)
from domogate.domain.ids import Id
from domogate.domain.plants import Ambient, Module
from domogate.domain.states import Report, State
from domogate.ports import Clock, Fabric, OrderStore, Picture
from domogate.services.plants.read_model import ModuleView

_log = structlog.get_logger(__name__)

T = TypeVar("T")

_PLUG = DeviceKind.PLUG
_LONGEST_KEY = 128
_GLANCES, _BETWEEN_GLANCES = 10, 0.05
"""How often, and how far apart, the end of an order is looked for that was answered before its end was on disk."""
_LAST_GLANCE = 0.15
"""How long after its deadline at most: whoever asks is answered before a quarter of a second more has passed."""

# When several plugs fail differently, the answer speaks of the worst: what was perhaps done, then what was not.
_WORST_FIRST: tuple[type[Fault], ...] = (DeviceTimeout, DeviceRefused, DeviceOffline)


class Control:
    """Reads a state that is fresh at once, asks the driver for one that is not, and carries commands (Decision 0008)."""

    def __init__(
        self,
        fabric: Fabric,
        store: OrderStore,
        clock: Clock,
        *,
        deadline: float,
        max_age: float,
        max_ages: Mapping[DeviceKind, float],
    ) -> None:
        self._fabric = fabric
        self._store = store
        self._clock = clock
        self._deadline = deadline
        self._max_ages = {kind: max_ages.get(kind, max_age) for kind in DeviceKind}
        self._asking: dict[Id, asyncio.Task[Report]] = {}
        self._looking: dict[Id, asyncio.Task[Picture]] = {}
        # An order's id is its idempotency key: unique in this process by number, among all processes by this prefix.
        self._process = secrets.token_hex(8)
        self._numbers = itertools.count(1)

    def find_fresh(self, view: ModuleView) -> State | None:
        """The state, if its driver vouched for it recently enough; None: ask `read_state`."""
        if view.reachable and self._clock.now() - view.confirmed_at <= self._max_ages[view.module.kind]:
            return view.state
        return None

    async def read_state(self, view: ModuleView) -> State:
        """Raises DeviceOffline, DeviceTimeout."""
        fresh = self.find_fresh(view)
        if fresh is not None:
            return fresh
        await self.refresh(view)
        if not view.reachable or view.state is None:
            raise DeviceOffline(f"the {view.module.kind} is offline; its state cannot be read now")
        return view.state

    async def refresh(self, view: ModuleView) -> None:
        """Ask the module now. Many who ask at once share one question. Raises DeviceTimeout."""
        module_id = view.module.id
        asking = self._asking.get(module_id)
        if asking is None:
            asking = asyncio.create_task(
                self._fabric.read(view.plant_id, module_id, self._clock.now() + self._deadline), name=f"ask {module_id}"
            )
            self._asking[module_id] = asking
            asking.add_done_callback(lambda task: _end(self._asking, module_id, task))
        report = await asyncio.shield(asking)
        # What was committed while the answer was on its way is newer: an order, or what the module has said since.
        if report.at >= view.reported_at:
            if report.state is not None:
                view.state = report.state
            view.reachable = report.reachable
            view.absence = report.absence
        view.confirmed_at = self._clock.now()

    async def take_picture(self, view: ModuleView) -> Picture:
        """What a camera that is on sees. Many who look at once see one picture.

        Raises DeviceOffline, DeviceTimeout, DeviceRefused.
        """
        module_id = view.module.id
        looking = self._looking.get(module_id)
        if looking is None:
            deadline = self._clock.now() + self._deadline
            looking = asyncio.create_task(
                self._fabric.take_picture(view.plant_id, module_id, deadline), name=f"look through {module_id}"
            )
            self._looking[module_id] = looking
            looking.add_done_callback(lambda task: _end(self._looking, module_id, task))
        return await asyncio.shield(looking)

    # orders

    async def execute(self, plant_id: Id, module_id: Id, command: Command, *, key: str | None = None) -> Report:
        """`key`: what the order is to be known by. Raises DeviceOffline, DeviceTimeout, DeviceRefused, OrderKeyTaken."""
        return await self._fabric.execute(self._make_order(plant_id, module_id, command, key=key))

    async def order(
        self, plant_id: Id, module_id: Id, command: Command, *, key: str | None = None, deadline: float | None = None
    ) -> OrderRecord:
        """What became of it, by its deadline (a time; the usual one from now if None). A device's failure is no fault here.

        `key` is an idempotency key: the same again gives the same record and sends nothing. Raises OrderKeyTaken when it was
        used for another command, ValueOutOfRange when it is no key, Internal.
        """
        if key is not None and not (0 < len(key) <= _LONGEST_KEY and key.isprintable()):
            raise ValueOutOfRange(f"an idempotency key is 1 to {_LONGEST_KEY} printable characters")
        order = self._make_order(plant_id, module_id, command, key=key, deadline=deadline)
        known = None if key is None else await self._store.find_order(order.id)
        if known is not None:
            if not order.repeats(known.order):
                raise OrderKeyTaken("this idempotency key was used for another command")
            if known.state.is_end:
                return known
        state, problem = OrderState.CONFIRMED, ""
        try:
            await self._fabric.execute(order)
        except (DeviceOffline, DeviceTimeout, DeviceRefused) as fault:
            state, problem = end_after(fault), fault.message
        kept = await self._find_ended(order)
        if kept is not None:
            return kept
        # It came to nothing before anybody put it on disk: nobody drives anything, or its time was up when it came.
        now = self._clock.now()
        return OrderRecord(order, state, queued_at=now, ended_at=now, problem=problem)

    async def _find_ended(self, order: Order) -> OrderRecord | None:
        """Its record; who asks is answered at the deadline even if the end is not on disk by then."""
        for _ in range(_GLANCES):
            record = await self._store.find_order(order.id)
            if record is None or record.state.is_end or self._clock.now() >= order.deadline + _LAST_GLANCE:
                break
            await asyncio.sleep(_BETWEEN_GLANCES)
        return record

    async def queue(self, plant_id: Id, steps: Sequence[SceneStep]) -> Sequence[Order]:
        """Keep them as orders to be sent, together. A later step on the same module has as much longer. Raises Internal."""
        now = self._clock.now()
        before: dict[Id, int] = {}
        orders = []
        for step in steps:
            before[step.module_id] = place = before.get(step.module_id, 0) + 1
            deadline = now + place * self._deadline
            orders.append(self._make_order(plant_id, step.module_id, step.command, deadline=deadline))
        try:
            await self._store.add_orders(orders, now, sent=False)
        except Exception as error:
            _log.error("orders not written", plant_id=plant_id, orders=len(orders), exc_info=error)
            raise Internal("the orders could not be written, and were not sent") from error
        return orders

    async def send(self, order: Order) -> Report:
        """Send what was queued. Raises DeviceOffline, DeviceTimeout, DeviceRefused."""
        return await self._fabric.execute(order)

    def _make_order(
        self, plant_id: Id, module_id: Id, command: Command, *, key: str | None = None, deadline: float | None = None
    ) -> Order:
        return Order(
            id=key or f"{self._process}-{next(self._numbers)}",
            plant_id=plant_id,
            module_id=module_id,
            command=command,
            deadline=self._clock.now() + self._deadline if deadline is None else deadline,
        )

    async def switch_plugs(self, plant_id: Id, ambient: Ambient, *, on: bool) -> None:
        """Switch all plugs of the ambient; returns once each has confirmed it (E1)."""
        plugs = [module for module in ambient.modules if module.kind is _PLUG]
        if not plugs:
            raise NoPlug("no plug found: the ambient exists but holds no module of kind plug")
        command = SwitchPlug(on=on)
        if len(plugs) == 1:  # the most common ambient needs no task of its own
            await self._switch_one(plant_id, plugs[0], command)
            return
        outcomes = await asyncio.gather(*(self.execute(plant_id, plug.id, command) for plug in plugs), return_exceptions=True)
        failed = [
            (plug.name, outcome) for plug, outcome in zip(plugs, outcomes, strict=True) if isinstance(outcome, BaseException)
        ]
        if failed:
            raise _worst(failed, of=len(plugs))

    async def _switch_one(self, plant_id: Id, plug: Module, command: SwitchPlug) -> None:
        try:
            await self.execute(plant_id, plug.id, command)
        except Fault as fault:
            raise _worst([(plug.name, fault)], of=1) from fault


def _end(under_way: dict[Id, asyncio.Task[T]], module_id: Id, task: asyncio.Task[T]) -> None:
    del under_way[module_id]
    if not task.cancelled():
        task.exception()  # retrieved here in case everyone who asked has gone


def _worst(failed: list[tuple[str, BaseException]], *, of: int) -> BaseException:
    for _, outcome in failed:
        if not isinstance(outcome, Fault):
            return outcome
    names = ", ".join(f"'{name}'" for name, _ in failed)
    for kind in _WORST_FIRST:
        for _, outcome in failed:
            if isinstance(outcome, kind):
                return kind(f"{len(failed)} of {of} plugs did not confirm: {names}; {outcome.message}")
    return failed[0][1]
