"""Modules, orders and a fake driver for tests around devices."""

import asyncio
import os
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from typing import Any
from uuid import UUID

from domogate.domain.commands import Command, Order
from domogate.domain.devices import DeviceKind
from domogate.domain.estate import FirstState
from domogate.domain.faults import DeviceRefused
from domogate.domain.ids import Id, new_id
from domogate.domain.plants import Module
from domogate.domain.states import LightState, Report, State
from domogate.ports import AttachedModule, Clock, Picture, ReportSink
from support.clocks import NOON


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


def make_attached(kind: DeviceKind, state: State | None = None, *, reachable: bool = True, **fields: Any) -> AttachedModule:
    module = make_module(kind, **fields)
    return AttachedModule(module, FirstState(module.id, state, reachable), 0.0 if state is None else NOON)


def make_order(
    plant_id: Id, module_id: Id, command: Command, *, deadline: float = NOON + 1e9, order_id: str | None = None
) -> Order:
    return Order(order_id or new_id(), plant_id, module_id, command, deadline)


class FakeDriver:
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
        self.attached[plant_id] = {each.module.id: each for each in modules}
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
