"""The OpenWebNet driver.

The option `gateway` of a module names its OpenWebNet gateway. If there is only one, the option may be missing.
"""

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any

from domogate.domain.commands import Order
from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout
from domogate.domain.ids import Id
from domogate.domain.reachability import Absence, AbsenceReason
from domogate.domain.states import Report
from domogate.drivers.declaration import OptionProblem
from domogate.drivers.openwebnet.bus import Bus
from domogate.drivers.openwebnet.gateways import OpenWebNetGateway
from domogate.drivers.openwebnet.kinds import find_option_problems, make_device
from domogate.drivers.openwebnet.module import DrivenModule
from domogate.drivers.report_queue import ReportQueues
from domogate.ports import AttachedModule, Clock, ConnectionHealth, Picture, ReportSink

REPORT_PAUSE = 0.05
"""Seconds between two reports of a module that has many changes in a short time. `ReportQueue` has the exact rule."""


class OpenWebNet:
    """Drives modules on MyHome buses, each bus through its own OpenWebNet gateway."""

    name = "openwebnet"

    def __init__(self, clock: Clock, gateways: Sequence[OpenWebNetGateway]) -> None:
        self._clock = clock
        self._reports = ReportQueues(clock, REPORT_PAUSE)
        self._buses = {gateway.name: Bus(gateway, clock, self._report_change, self._fail) for gateway in gateways}
        if len(self._buses) != len(gateways):
            raise ValueError("two OpenWebNet gateways have the same name")
        self._plants: dict[Id, dict[Id, DrivenModule]] = {}
        self._failure: asyncio.Future[Exception] | None = None
        self._calls: set[asyncio.Task[None]] = set()

    # lifecycle

    async def start(self, report: ReportSink) -> None:
        self._failure = asyncio.get_running_loop().create_future()
        self._reports.start(report)

    def _fail(self, error: BaseException) -> None:
        if self._failure is not None and not self._failure.done():
            self._failure.set_result(error if isinstance(error, Exception) else RuntimeError(repr(error)))

    async def stop(self) -> None:
        self._failure = None
        for task in tuple(self._calls):
            task.cancel()
        await self._reports.stop()
        await asyncio.gather(*(bus.stop() for bus in self._buses.values()))
        for plant_id in tuple(self._plants):
            self._remove(self._plants.pop(plant_id).values())

    async def wait_failed(self) -> Exception:
        """Wait for an unexpected error, and return it. A lost connection does not count: the driver opens it again."""
        failure = self._failure
        if failure is None:
            failure = asyncio.get_running_loop().create_future()
        return await asyncio.shield(failure)

    def list_connections(self) -> list[ConnectionHealth]:
        return [bus.health for bus in self._buses.values()]

    # plants

    async def attach(self, plant_id: Id, modules: Sequence[AttachedModule]) -> None:
        before = self._plants.get(plant_id, {})
        after: dict[Id, DrivenModule] = {}
        for attached in modules:
            module = before.get(attached.module.id)
            if module is not None and module.matches(attached.module):
                module.module = attached.module
                if module.differs_from(attached.last):
                    self._report_change(module)
            else:
                module = self._make_module(plant_id, attached)
            after[attached.module.id] = module
        kept = set(after.values())
        self._remove([module for module in before.values() if module not in kept])
        self._plants[plant_id] = after
        for module in kept - set(before.values()):
            if module.device is None:
                self._report_change(module)
            else:
                bus = self._bus_of(module)
                bus.add(module)
                bus.start()
        await self._stop_empty_buses()

    async def detach(self, plant_id: Id) -> None:
        self._remove(self._plants.pop(plant_id, {}).values())
        await self._reports.remove(plant_id)
        await self._stop_empty_buses()

    def _make_module(self, plant_id: Id, attached: AttachedModule) -> DrivenModule:
        module = attached.module
        problems = [f"{'.'.join(map(str, path))}: {words}" if path else words for path, words in self._find_problems(attached)]
        if problems:
            absence = Absence(AbsenceReason.MISCONFIGURED, self._clock.now(), "; ".join(problems))
            return DrivenModule(plant_id, module, None, absence)
        return DrivenModule(plant_id, module, make_device(module.kind, module.options, attached.last.state))

    def _find_problems(self, attached: AttachedModule) -> Sequence[OptionProblem]:
        options = attached.module.options
        problems = list(find_option_problems(attached.module.kind, options))
        if "gateway" not in options and len(self._buses) != 1:
            known = ", ".join(self._buses) or "there is none"
            problems.append(((), f"'gateway' is missing: name a gateway of the settings ({known})"))
        elif "gateway" in options and options["gateway"] not in self._buses:
            problems.append((("gateway",), f"no gateway is called {options['gateway']!r} in the settings"))
        return problems

    def _bus_of(self, module: DrivenModule) -> Bus:
        return self._buses[module.module.options.get("gateway", next(iter(self._buses)))]

    def _remove(self, modules: Iterable[DrivenModule]) -> None:
        for module in modules:
            module.has_changes = False
            if module.device is not None:
                self._bus_of(module).remove(module)

    def _report_change(self, module: DrivenModule) -> None:
        module.has_changes = True
        self._reports.add(module)

    async def _stop_empty_buses(self) -> None:
        """Stop the buses without modules: they need no connection."""
        await asyncio.gather(*(bus.stop() for bus in self._buses.values() if bus.is_empty))

    # orders and reads

    async def execute(self, order: Order) -> Report:
        module = self._find(order.plant_id, order.module_id)
        if module.device is None:
            raise DeviceOffline(f"the device cannot be driven: {module.absence.evidence if module.absence else ''}")
        if self._clock.now() >= order.deadline:
            raise DeviceTimeout("the order came after its deadline")
        with self._reports.hold(module):
            await self._until_stopped(self._bus_of(module).execute(module, order))
            return module.report(self._clock.now())

    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report:
        module = self._find(plant_id, module_id)
        if module.device is not None:
            await self._until_stopped(self._bus_of(module).read(module, deadline))
        return module.make_report(self._clock.now())

    async def take_picture(self, plant_id: Id, module_id: Id, _deadline: float) -> Picture:
        self._find(plant_id, module_id)
        raise DeviceRefused("an OpenWebNet bus has no pictures")

    def _find(self, plant_id: Id, module_id: Id) -> DrivenModule:
        module = self._plants.get(plant_id, {}).get(module_id)
        if module is None:
            raise DeviceOffline("OpenWebNet does not drive this module")
        return module

    async def _until_stopped(self, work: Coroutine[Any, Any, None]) -> None:
        """Await `work`. If the driver is stopped before `work` has ended, raise DeviceOffline."""
        task = asyncio.create_task(work)
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)
        try:
            await task
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if current is not None and current.cancelling():
                raise
            raise DeviceOffline("the driver was stopped") from None
