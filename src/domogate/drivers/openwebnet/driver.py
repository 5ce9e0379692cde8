"""The driver: which module is behind which gateway, and the same answers as every driver gives."""

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any

from domogate.domain.commands import Order
from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout
from domogate.domain.ids import Id
from domogate.domain.reachability import Absence, AbsenceReason
from domogate.domain.states import Report
from domogate.drivers.openwebnet.bus import Bus
from domogate.drivers.openwebnet.driven import Driven
from domogate.drivers.openwebnet.gateways import OpenWebNetGateway
from domogate.drivers.openwebnet.kinds import find_option_problems, make_device
from domogate.drivers.openwebnet.outbox import Outbox
from domogate.ports import AttachedModule, Clock, Picture, ReportSink


class OpenWebNet:
    """MyHome buses through their gateways. Each gateway is on its own; what hangs on one is reported by this one driver."""

    name = "openwebnet"

    def __init__(self, clock: Clock, gateways: Sequence[OpenWebNetGateway]) -> None:
        self._clock = clock
        self._outbox = Outbox(clock)
        self._buses = {gateway.name: Bus(gateway, clock, self._outbox.put, self._fail) for gateway in gateways}
        if len(self._buses) != len(gateways):
            raise ValueError("two OpenWebNet gateways have the same name")
        self._plants: dict[Id, dict[Id, Driven]] = {}
        self._sending: asyncio.Task[None] | None = None
        self._failure: asyncio.Future[Exception] | None = None
        self._under_way: set[asyncio.Task[Report]] = set()

    # lifecycle

    async def start(self, report: ReportSink) -> None:
        self._failure = asyncio.get_running_loop().create_future()
        self._sending = asyncio.create_task(self._outbox.keep_sending(report), name="reports of OpenWebNet")
        self._sending.add_done_callback(self._sending_ended)

    def _sending_ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        if self._failure is not None and not self._failure.done():
            self._failure.set_result(error if isinstance(error, Exception) else RuntimeError(repr(error)))

    async def stop(self) -> None:
        sending, self._sending, self._failure = self._sending, None, None
        for task in tuple(self._under_way):
            task.cancel()
        if sending is not None:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
        await asyncio.gather(*(bus.stop() for bus in self._buses.values()))
        for plant_id in tuple(self._plants):
            self._drop(self._plants.pop(plant_id).values())
        self._outbox.clear()

    async def wait_failed(self) -> Exception:
        """It mends its connections itself: only a mistake of its own fails it."""
        failure = self._failure
        if failure is None:
            failure = asyncio.get_running_loop().create_future()
        return await asyncio.shield(failure)

    # plants

    async def attach(self, plant_id: Id, modules: Sequence[AttachedModule]) -> None:
        before = self._plants.get(plant_id, {})
        after: dict[Id, Driven] = {}
        for placed in modules:
            known = before.get(placed.module.id)
            if known is not None and known.is_driven_as(placed.module):
                known.module = placed.module
            else:
                known = self._make(plant_id, placed)
            after[placed.module.id] = known
        kept = set(after.values())
        self._drop([driven for driven in before.values() if driven not in kept])
        self._plants[plant_id] = after
        for driven in kept - set(before.values()):
            if driven.device is None:
                self._outbox.put(driven)
            else:
                bus = self._bus_of(driven)
                bus.put(driven)
                bus.start()
        await self._rest()

    async def detach(self, plant_id: Id) -> None:
        self._drop(self._plants.pop(plant_id, {}).values())
        await self._rest()

    def _make(self, plant_id: Id, placed: AttachedModule) -> Driven:
        module = placed.module
        problems = [f"{'.'.join(map(str, path))}: {words}" if path else words for path, words in self._find_problems(placed)]
        if problems:
            return Driven(plant_id, module, None, Absence(AbsenceReason.MISCONFIGURED, self._clock.now(), "; ".join(problems)))
        return Driven(plant_id, module, make_device(module.kind, module.options, placed.last.state))

    def _find_problems(self, placed: AttachedModule) -> Sequence[tuple[tuple[str | int, ...], str]]:
        options = placed.module.options
        problems = list(find_option_problems(placed.module.kind, options))
        if "gateway" not in options and len(self._buses) != 1:
            known = ", ".join(self._buses) or "there is none"
            problems.append(((), f"'gateway' is missing: one of those in the settings ({known})"))
        elif "gateway" in options and options["gateway"] not in self._buses:
            problems.append((("gateway",), f"no gateway is called {options['gateway']!r} in the settings"))
        return problems

    def _bus_of(self, driven: Driven) -> Bus:
        return self._buses[driven.module.options.get("gateway", next(iter(self._buses)))]

    def _drop(self, gone: Iterable[Driven]) -> None:
        dropped = set(gone)
        for driven in dropped:
            if driven.device is not None:
                self._bus_of(driven).take_away(driven)
        self._outbox.discard(dropped.__contains__)

    async def _rest(self) -> None:
        """A gateway that nothing is behind any more is left alone."""
        await asyncio.gather(*(bus.stop() for bus in self._buses.values() if bus.is_empty))

    # orders and questions

    async def execute(self, order: Order) -> Report:
        driven = self._find(order.plant_id, order.module_id)
        if driven.device is None:
            raise DeviceOffline(f"the device cannot be driven: {driven.absence.evidence if driven.absence else ''}")
        if self._clock.now() >= order.deadline:
            raise DeviceTimeout("the device was not told: the time of the order was up")
        return await self._until_stopped(self._execute(driven, order))

    async def _execute(self, driven: Driven, order: Order) -> Report:
        await self._bus_of(driven).execute(driven, order)
        return driven.report(self._clock.now())

    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report:
        driven = self._find(plant_id, module_id)
        if driven.device is None:
            return driven.report(self._clock.now())
        return await self._until_stopped(self._read(driven, deadline))

    async def _read(self, driven: Driven, deadline: float) -> Report:
        await self._bus_of(driven).read(driven, deadline)
        return driven.report(self._clock.now())

    async def take_picture(self, plant_id: Id, module_id: Id, deadline: float) -> Picture:  # noqa: ARG002 - nobody is asked
        self._find(plant_id, module_id)
        raise DeviceRefused("an OpenWebNet bus carries no pictures")

    def _find(self, plant_id: Id, module_id: Id) -> Driven:
        driven = self._plants.get(plant_id, {}).get(module_id)
        if driven is None:
            raise DeviceOffline("nobody drives this module on an OpenWebNet bus")
        return driven

    async def _until_stopped(self, work: Coroutine[Any, Any, Report]) -> Report:
        """A driver that is stopped ends what it has under way."""
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        try:
            return await task
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if current is not None and current.cancelling():
                raise
            raise DeviceOffline("the driver was stopped") from None
