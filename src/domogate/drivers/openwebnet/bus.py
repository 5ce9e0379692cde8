"""One OpenWebNet gateway and the bus behind it.

Each frame is passed to the modules that it is about, and orders are sent as frames.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar

from domogate.common.log import get_logger
from domogate.common.tasks import wait_for_event
from domogate.domain.commands import Order
from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout
from domogate.domain.reachability import Absence, AbsenceReason
from domogate.drivers.openwebnet.addresses import find_key
from domogate.drivers.openwebnet.command_session import BusBusy, CommandSession, DeadlinePassed, NoAnswer, NotSent
from domogate.drivers.openwebnet.device import Key, Plan
from domogate.drivers.openwebnet.event_session import EventSession
from domogate.drivers.openwebnet.frames import DimensionReading, DimensionRequest, Frame, Normal, StatusRequest
from domogate.drivers.openwebnet.gateways import OpenWebNetGateway
from domogate.drivers.openwebnet.module import DrivenModule, OnChange
from domogate.drivers.openwebnet.poller import NackReceived, Poller
from domogate.ports import Clock, ConnectionHealth

_log = get_logger(__name__)

FIRST_CHECK = 0.3
"""In seconds. If no event has confirmed a command after this time, the device is read."""
NEXT_CHECK = 1.0
GROUP_READ_EVERY = 5.0
"""In seconds. After a command to many devices, one status request reads them all. It is sent at most once in this period."""
N = TypeVar("N", Normal, Normal | DimensionReading)

_DEVICE_TYPE = DimensionRequest(13, "", 15)


class Bus:
    """The modules behind one OpenWebNet gateway.

    Each bus has its own connections. So a silent bus does not delay other buses.
    """

    def __init__(
        self, gateway: OpenWebNetGateway, clock: Clock, on_change: OnChange, on_failure: Callable[[BaseException], None]
    ) -> None:
        self.gateway = gateway
        self._clock = clock
        self._report = on_change
        self._on_failure = on_failure
        self._commands = CommandSession(gateway, clock)
        self._poller = Poller(clock, self._commands, self._receive, self._report_change)
        self._events = EventSession(
            gateway,
            on_up=self._session_opened,
            on_frame=self._receive_event,
            on_down=self._session_lost,
            check_alive=self._check_alive,
        )
        self._modules: dict[DrivenModule, None] = {}
        self._by_key: dict[Key, list[DrivenModule]] = {}
        self._absence: Absence | None = None
        self._opened_at: float | None = None
        self._gateway_known = asyncio.Event()
        """Set as soon as it is known whether the OpenWebNet gateway can be reached."""
        self._group_reads: dict[StatusRequest, float] = {}
        """For each status request to many devices: the time when it was sent, or will be sent."""
        self._tasks: list[asyncio.Task[None]] = []

    # lifecycle

    @property
    def is_empty(self) -> bool:
        return not self._modules

    @property
    def health(self) -> ConnectionHealth:
        name, address = self.gateway.name, self.gateway.address
        if self._absence is not None:
            return ConnectionHealth(name, address, "lost", self._absence.since, self._absence.evidence)
        if self._gateway_known.is_set():
            return ConnectionHealth(name, address, "connected", self._opened_at)
        return ConnectionHealth(name, address, "connecting" if self._tasks else "unused")

    def start(self) -> None:
        if not self._tasks:
            self._run(self._events.run(), "event session")
            self._run(self._poller.run(self._list_reachable), "poller")

    def _run(self, work: Coroutine[Any, Any, None], what: str) -> None:
        task = asyncio.create_task(work, name=f"{what} of OpenWebNet gateway {self.gateway.name}")
        task.add_done_callback(self._ended)
        self._tasks.append(task)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_failure(error)

    def stop(self) -> Awaitable[object]:
        """Stop immediately, without waiting. The bus can be started again immediately.

        The returned awaitable ends when all tasks have ended.
        """
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        self._poller.clear()
        self._gateway_known.clear()
        self._absence = None
        return asyncio.gather(self._commands.stop(), *tasks, return_exceptions=True)

    # modules

    def add(self, module: DrivenModule) -> None:
        assert module.device is not None
        self._modules[module] = None
        for key in module.device.keys:
            self._by_key.setdefault(key, []).append(module)
        if self._absence is not None:
            module.absence = self._absence
            self._report_change(module)
        elif self._gateway_known.is_set():
            self._poller.schedule((module,))

    def remove(self, module: DrivenModule) -> None:
        assert module.device is not None
        self._modules.pop(module, None)
        self._poller.forget(module)
        for key in module.device.keys:
            modules = self._by_key[key]
            modules.remove(module)
            if not modules:
                del self._by_key[key]

    def _list_reachable(self) -> Iterable[DrivenModule]:
        return self._modules if self._absence is None else ()

    def _report_change(self, module: DrivenModule) -> None:
        if module in self._modules:  # The module may have been removed during the read.
            self._report(module)

    # events

    def _session_opened(self) -> None:
        self._absence, self._opened_at = None, self._clock.now()
        self._gateway_known.set()
        for module in self._modules:
            module.missed_answers = 0
            module.subscribed_until = 0.0
        self._poller.schedule(self._modules)

    def _session_lost(self, why: AbsenceReason, words: str) -> None:
        known = self._absence
        if known is None or (known.why, known.evidence) != (why, words):
            self._absence = Absence(why, known.since if known is not None and known.why is why else self._clock.now(), words)
            for module in self._modules:
                module.absence = self._absence
                self._report_change(module)
        self._poller.clear()
        self._commands.close()
        self._gateway_known.set()

    async def _check_alive(self) -> bool:
        try:
            await self._commands.send(_DEVICE_TYPE, self._clock.now() + 5.0, self._receive)
        except (NotSent, NoAnswer) as error:
            return isinstance(error, BusBusy)
        return True

    def _receive_event(self, frame: Frame) -> None:
        if isinstance(frame, Normal) and find_key(frame.who, frame.where) is None:
            self._receive_group_command(frame)
        else:
            self._receive(frame)

    def _receive(self, frame: Frame) -> None:
        if not isinstance(frame, Normal | DimensionReading):
            return
        key = find_key(frame.who, frame.where)
        if key is None:
            return
        for module in self._by_key.get((frame.who, key), ()):
            assert module.device is not None
            if not self._deliver(module, frame, module.device.receive) and module.device.must_be_read(frame):
                self._poller.schedule((module,))

    def _deliver(self, module: DrivenModule, frame: N, receive: Callable[[N, float], bool]) -> bool:
        """Pass a frame to a device. Return whether the frame is about the state of the device.

        An error in one device must not stop the other devices or the session.
        """
        now = self._clock.now()
        try:
            is_about_state = receive(frame, now)
        except Exception as error:
            _log.error("a frame could not be processed", module_id=module.module.id, frame=frame.to_frame(), exc_info=error)
            return False
        if is_about_state:
            module.mark_received(now)
            self._report_change(module)
        return is_about_state

    def _receive_group_command(self, command: Normal) -> None:
        """Handle a command to all devices, an area or a group.

        The driver assumes that these devices executed the command. Then one status request asks for their real states.
        """
        found = False
        for module in self._modules:
            device = module.device
            if device is None or not any(who == command.who for who, _ in device.keys):
                continue
            if device.is_addressed_by(command.where):
                found = True
                self._deliver(module, command, device.receive_command)
        if found:
            self._read_group_later(StatusRequest(command.who, command.where))

    def _read_group_later(self, request: StatusRequest) -> None:
        loop = asyncio.get_running_loop()
        since = loop.time() - self._group_reads.get(request, -GROUP_READ_EVERY)
        if since >= GROUP_READ_EVERY:
            self._group_reads[request] = loop.time()
            self._poller.schedule((request,))
        elif since >= 0:  # Otherwise the request is already scheduled.
            self._group_reads[request] = loop.time() + GROUP_READ_EVERY - since
            loop.call_later(GROUP_READ_EVERY - since, self._read_later, request)

    # orders and reads

    async def execute(self, module: DrivenModule, order: Order) -> None:
        """Execute the order, and wait until the device has confirmed it. Raises a fault if the order is not confirmed.

        If `Plan.is_confirmed` is None, the ACK of the OpenWebNet gateway is enough.
        """
        await self._wait_gateway(order.deadline)
        try:
            async with asyncio.timeout(self._remaining(order.deadline)):
                await module.order_lock.acquire()
        except TimeoutError:
            raise DeviceTimeout("the order was not sent: another order kept the device busy until the deadline") from None
        try:
            await self._send_order(module, order)
        finally:
            module.order_lock.release()

    async def _send_order(self, module: DrivenModule, order: Order) -> None:
        assert module.device is not None
        if module.absence is not None:
            await self._check_absent(module, order.deadline)
        if module.device.needs_state(order.command):
            await self.read(module, order.deadline)
        plan = module.device.plan(order.command)
        before = module.received
        for request in plan.requests:
            try:
                if not await self._commands.send(request, order.deadline, self._receive):
                    raise DeviceRefused(f"the gateway {self.gateway.name} refused {request.to_frame()} (NACK)")
            except DeadlinePassed as error:
                raise DeviceTimeout(f"the order was not sent: {error}") from error
            except BusBusy as error:
                raise DeviceRefused(f"the order was not executed: {error}") from error
            except NotSent as error:
                raise DeviceOffline(f"the order was not sent: {error}") from error
            except NoAnswer as error:
                if plan.is_confirmed is None:
                    raise DeviceTimeout(f"it is not known whether the device executed it: {error}") from error
                break  # The command is not sent again. The device may still confirm it.
        if plan.is_confirmed is not None:
            await self._wait_confirmed(module, plan.is_confirmed, before, order.deadline)
        if plan.is_confirmed is None or plan.on_done is not None:
            self._finish(module, plan)

    def _finish(self, module: DrivenModule, plan: Plan) -> None:
        if plan.on_done is not None:
            plan.on_done()
        self._report_change(module)
        if plan.read_after is not None:
            asyncio.get_running_loop().call_later(plan.read_after, self._read_later, module)

    def _read_later(self, asked: DrivenModule | StatusRequest) -> None:
        exists = asked in self._modules if isinstance(asked, DrivenModule) else not self.is_empty
        if exists and self._absence is None:
            self._poller.schedule((asked,))

    async def _wait_confirmed(
        self, module: DrivenModule, is_confirmed: Callable[[], bool], before: int, deadline: float
    ) -> None:
        pause = FIRST_CHECK
        while not await module.wait_until(
            lambda: module.received > before and is_confirmed(), min(pause, self._remaining(deadline))
        ):
            if self._remaining(deadline) <= 0:
                raise DeviceTimeout("the gateway accepted the order, but the device did not confirm it in time")
            pause = NEXT_CHECK
            if self._absence is not None:
                continue  # The gateway may be connected again before the deadline.
            try:
                await self._poller.read(module, deadline)
            except (NackReceived, NotSent, NoAnswer) as error:
                _log.debug("not confirmed yet", module_id=module.module.id, words=str(error))

    async def _check_absent(self, module: DrivenModule, deadline: float) -> None:
        """Read a module that was absent at the last read. Raises DeviceOffline if it is still absent."""
        try:
            if await self._poller.read(module, deadline):
                return
        except (NackReceived, NotSent, NoAnswer) as error:
            _log.debug("still absent", module_id=module.module.id, words=str(error))
        if module.absence is not None:
            raise DeviceOffline(f"the device is offline ({module.absence.why}): {module.absence.evidence}")

    async def read(self, module: DrivenModule, deadline: float) -> None:
        """Read the module, and wait until it has answered or is known to be absent. Raises DeviceTimeout if neither happens.

        A device without a state, such as a scene, is not asked.
        """
        assert module.device is not None
        try:
            await self._wait_gateway(deadline)
        except DeviceOffline:
            return
        if not module.device.read_requests:
            return
        try:
            if await self._poller.read(module, deadline):
                return
            problem = "the device did not answer in time"
        except NackReceived as nack:
            self._poller.set_absent(module, AbsenceReason.REFUSED, str(nack))
            return
        except (NotSent, NoAnswer) as error:
            problem = str(error)
        if module.absence is None:
            raise DeviceTimeout(problem)

    async def _wait_gateway(self, deadline: float) -> None:
        if not await wait_for_event(self._gateway_known, self._remaining(deadline)):
            raise DeviceTimeout(f"the gateway {self.gateway.name} has not been reached yet")
        if self._absence is not None:
            raise DeviceOffline(f"the gateway {self.gateway.name} cannot be reached: {self._absence.evidence}")

    def _remaining(self, deadline: float) -> float:
        return max(0.0, deadline - self._clock.now())
