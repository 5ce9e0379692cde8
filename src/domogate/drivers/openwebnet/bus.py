"""One gateway and the bus behind it: what is heard there goes to the devices it is about, and orders become frames."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar

import structlog

from domogate.domain.commands import Order
from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout
from domogate.domain.reachability import Absence, AbsenceReason
from domogate.drivers.openwebnet.addresses import find_key
from domogate.drivers.openwebnet.asking import Asking, Declined
from domogate.drivers.openwebnet.device import Key, Plan
from domogate.drivers.openwebnet.driven import Driven
from domogate.drivers.openwebnet.frames import DimensionReading, DimensionRequest, Frame, Normal, StatusRequest
from domogate.drivers.openwebnet.gateways import OpenWebNetGateway
from domogate.drivers.openwebnet.line import CommandLine, NoTime, NotSent, Unanswered
from domogate.drivers.openwebnet.listening import Listening
from domogate.ports import Clock

_log = structlog.get_logger(__name__)

FIRST_LOOK = 0.3
"""An event shows within this time what a command did; otherwise the device is asked."""
NEXT_LOOK = 1.0
SPACING = 5.0
"""What many were told at once is followed by one question to all of them; what comes within so many seconds, by one more."""
N = TypeVar("N", Normal, Normal | DimensionReading)

_DEVICE_TYPE = DimensionRequest(13, "", 15)


class Bus:
    """The devices behind one gateway. Its connections are its own: a gateway that is silent delays no other."""

    def __init__(
        self,
        gateway: OpenWebNetGateway,
        clock: Clock,
        tell: Callable[[Driven], None],
        on_failure: Callable[[BaseException], None],
    ) -> None:
        self.gateway = gateway
        self._clock = clock
        self._report = tell
        self._on_failure = on_failure
        self._line = CommandLine(gateway, clock)
        self._asking = Asking(clock, self._line, self._hear, self._tell)
        self._listening = Listening(
            gateway, on_up=self._is_up, on_frame=self._hear_event, on_down=self._is_down, is_there=self._is_there
        )
        self._driven: dict[Driven, None] = {}
        self._by_key: dict[Key, list[Driven]] = {}
        self._absence: Absence | None = None
        self._settled = asyncio.Event()
        """Set once it is known whether the gateway is there."""
        self._followed: dict[StatusRequest, float] = {}
        """When many were last asked at once, or will be."""
        self._tasks: list[asyncio.Task[None]] = []

    # lifecycle

    @property
    def is_empty(self) -> bool:
        return not self._driven

    def start(self) -> None:
        if not self._tasks:
            self._run(self._listening.keep_listening(), "listening")
            self._run(self._asking.keep_asking(self._list_within_reach), "asking")

    def _run(self, work: Coroutine[Any, Any, None], what: str) -> None:
        task = asyncio.create_task(work, name=f"{what} of OpenWebNet gateway {self.gateway.name}")
        task.add_done_callback(self._ended)
        self._tasks.append(task)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_failure(error)

    def stop(self) -> Awaitable[object]:
        """It is stopped at once, and may be started again at once; what is returned waits until nothing is left of it."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        self._asking.forget_all()
        self._settled.clear()
        self._absence = None
        return asyncio.gather(self._line.stop(), *tasks, return_exceptions=True)

    # what it holds

    def put(self, driven: Driven) -> None:
        assert driven.device is not None
        self._driven[driven] = None
        for key in driven.device.keys:
            self._by_key.setdefault(key, []).append(driven)
        if self._absence is not None:
            driven.absence = self._absence
            self._tell(driven)
        elif self._settled.is_set():
            self._asking.want((driven,))

    def take_away(self, driven: Driven) -> None:
        assert driven.device is not None
        self._driven.pop(driven, None)
        self._asking.forget(driven)
        for key in driven.device.keys:
            holding = self._by_key[key]
            holding.remove(driven)
            if not holding:
                del self._by_key[key]

    def _list_within_reach(self) -> Iterable[Driven]:
        return self._driven if self._absence is None else ()

    def _tell(self, driven: Driven) -> None:
        if driven in self._driven:  # it may have been taken away while it was asked
            self._report(driven)

    # what happens on it

    def _is_up(self) -> None:
        self._absence = None
        self._settled.set()
        for driven in self._driven:
            driven.missed = 0
            driven.subscribed_until = 0.0
        self._asking.want(self._driven)

    def _is_down(self, why: AbsenceReason, words: str) -> None:
        known = self._absence
        if known is None or (known.why, known.evidence) != (why, words):
            self._absence = Absence(why, known.since if known is not None and known.why is why else self._clock.now(), words)
            for driven in self._driven:
                driven.absence = self._absence
                self._tell(driven)
        self._asking.forget_all()
        self._line.close()
        self._settled.set()

    async def _is_there(self) -> bool:
        try:
            await self._line.exchange(_DEVICE_TYPE, self._clock.now() + 5.0, self._hear)
        except (NotSent, Unanswered):
            return False
        return True

    def _hear_event(self, frame: Frame) -> None:
        if isinstance(frame, Normal) and find_key(frame.who, frame.where) is None:
            self._hear_of_many(frame)
        else:
            self._hear(frame)

    def _hear(self, frame: Frame) -> None:
        if not isinstance(frame, Normal | DimensionReading):
            return
        key = find_key(frame.who, frame.where)
        if key is None:
            return
        for driven in self._by_key.get((frame.who, key), ()):
            assert driven.device is not None
            if not self._let_hear(driven, frame, driven.device.hear) and driven.device.must_be_asked(frame):
                self._asking.want((driven,))

    def _let_hear(self, driven: Driven, frame: N, hear: Callable[[N, float], bool]) -> bool:
        """What one device chokes on stops neither the others nor the session."""
        now = self._clock.now()
        try:
            is_heard = hear(frame, now)
        except Exception as error:
            _log.error("frame not understood", module_id=driven.module.id, frame=frame.to_frame(), exc_info=error)
            return False
        if is_heard:
            driven.is_heard(now)
            self._tell(driven)
        return is_heard

    def _hear_of_many(self, command: Normal) -> None:
        """What all, an area or a group were told: each is in that state now, and one question makes sure of it."""
        concerned = False
        for driven in self._driven:
            device = driven.device
            if device is not None and any(who == command.who for who, _ in device.keys) and device.concerns(command.where):
                concerned = True
                self._let_hear(driven, command, device.overhear)
        if concerned:
            self._make_sure(StatusRequest(command.who, command.where))

    def _make_sure(self, request: StatusRequest) -> None:
        loop = asyncio.get_running_loop()
        since = loop.time() - self._followed.get(request, -SPACING)
        if since >= SPACING:
            self._followed[request] = loop.time()
            self._asking.want((request,))
        elif since >= 0:  # else somebody will
            self._followed[request] = loop.time() + SPACING - since
            loop.call_later(SPACING - since, self._ask_later, request)

    # orders and questions

    async def execute(self, driven: Driven, order: Order) -> None:
        """Returns once the device has shown it. Raises DeviceOffline, DeviceTimeout, DeviceRefused."""
        await self._need_gateway(order.deadline)
        try:
            async with asyncio.timeout(self._remaining(order.deadline)):
                await driven.turn.acquire()
        except TimeoutError:
            raise DeviceTimeout("the device was not told: it was busy with another order until the time was up") from None
        try:
            await self._carry_out(driven, order)
        finally:
            driven.turn.release()

    async def _carry_out(self, driven: Driven, order: Order) -> None:
        assert driven.device is not None
        if driven.absence is not None:
            await self._find_again(driven, order.deadline)
        plan = driven.device.plan(order.command)
        before = driven.heard
        for request in plan.requests:
            try:
                if not await self._line.exchange(request, order.deadline, self._hear):
                    raise DeviceRefused(f"the gateway {self.gateway.name} refused {request.to_frame()} (NACK)")
            except NoTime as error:
                raise DeviceTimeout(f"the device was not told: {error}") from error
            except NotSent as error:
                raise DeviceOffline(f"the device was not told: {error}") from error
            except Unanswered as error:
                if plan.is_shown is None:
                    raise DeviceTimeout(f"it is not known whether the device did it: {error}") from error
                break  # told or not, it is not told again; the device itself may still show it
        if plan.is_shown is None:
            self._is_taken(driven, plan)
        else:
            await self._wait_shown(driven, plan.is_shown, before, order.deadline)

    def _is_taken(self, driven: Driven, plan: Plan) -> None:
        if plan.on_ack is not None:
            plan.on_ack(self._clock.now())
        self._tell(driven)
        if plan.ask_after is not None:
            asyncio.get_running_loop().call_later(plan.ask_after, self._ask_later, driven)

    def _ask_later(self, asked: Driven | StatusRequest) -> None:
        there = asked in self._driven if isinstance(asked, Driven) else not self.is_empty
        if there and self._absence is None:
            self._asking.want((asked,))

    async def _wait_shown(self, driven: Driven, is_shown: Callable[[], bool], before: int, deadline: float) -> None:
        look = FIRST_LOOK
        while not await driven.until(lambda: driven.heard > before and is_shown(), min(look, self._remaining(deadline))):
            if self._remaining(deadline) <= 0:
                raise DeviceTimeout("the gateway took the order, and the device did not show it in time")
            look = NEXT_LOOK
            if self._absence is not None:
                continue  # it may come back in time; who called it now would only be one more
            try:
                await self._asking.ask(driven, deadline)
            except (Declined, NotSent, Unanswered) as error:
                _log.debug("not confirmed yet", module_id=driven.module.id, words=str(error))

    async def _find_again(self, driven: Driven, deadline: float) -> None:
        """It was gone when it was last looked for."""
        try:
            if await self._asking.ask(driven, deadline):
                return
        except (Declined, NotSent, Unanswered):
            pass
        if driven.absence is not None:
            raise DeviceOffline(f"the device is offline ({driven.absence.why}): {driven.absence.evidence}")

    async def read(self, driven: Driven, deadline: float) -> None:
        """Returns once it was heard of, or is known to be gone. Raises DeviceTimeout."""
        assert driven.device is not None
        try:
            await self._need_gateway(deadline)
        except DeviceOffline:
            return
        if not driven.device.questions:
            return
        try:
            if await self._asking.ask(driven, deadline):
                return
            problem = "the device did not answer in time"
        except Declined as declined:
            self._asking.declare_gone(driven, AbsenceReason.REFUSED, str(declined))
            return
        except (NotSent, Unanswered) as error:
            problem = str(error)
        if driven.absence is None:
            raise DeviceTimeout(problem)

    async def _need_gateway(self, deadline: float) -> None:
        try:
            async with asyncio.timeout(self._remaining(deadline)):
                await self._settled.wait()
        except TimeoutError:
            raise DeviceTimeout(f"the gateway {self.gateway.name} has not been reached yet") from None
        if self._absence is not None:
            raise DeviceOffline(f"the gateway {self.gateway.name} cannot be reached: {self._absence.evidence}")

    def _remaining(self, deadline: float) -> float:
        return max(0.0, deadline - self._clock.now())
