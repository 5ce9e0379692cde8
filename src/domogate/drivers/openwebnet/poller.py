"""Reads the devices of a bus: on request, and in the background, one device after the other."""

import asyncio
from collections.abc import Callable, Iterable

from domogate.common.log import get_logger
from domogate.domain.reachability import Absence, AbsenceReason
from domogate.drivers.openwebnet.command_session import BusBusy, CommandSession, NoAnswer, NotSent
from domogate.drivers.openwebnet.energy import UPDATED_FOR
from domogate.drivers.openwebnet.frames import OnFrame, Request, StatusRequest
from domogate.drivers.openwebnet.module import DrivenModule, OnChange
from domogate.ports import Clock

_log = get_logger(__name__)

EVENT_GRACE = 1.5
"""In seconds. A read waits at most this time after the ACK, because some answers arrive later, in the event session."""
POLL_EVERY = 300.0
"""In seconds. Every device is read once in this period, to find missed events and absent devices."""
TIMEOUT = 10.0
"""The seconds that a read in the background may take."""
MISSES = 2
"""After this number of reads in a row without an answer, a device counts as absent. A busy bus may lose a frame."""


class NackReceived(Exception):
    """The OpenWebNet gateway answered a request with NACK: it did not execute the request."""


class Poller:
    """Reads devices through the command session. A device that does not answer is reported as absent."""

    def __init__(self, clock: Clock, commands: CommandSession, on_frame: OnFrame, on_change: OnChange) -> None:
        self._clock = clock
        self._commands = commands
        self._on_frame = on_frame
        self._report_change = on_change
        self._scheduled: dict[DrivenModule | StatusRequest, None] = {}
        self._wake = asyncio.Event()

    async def read(self, module: DrivenModule, deadline: float) -> bool:
        """Ask the device for its state. Return whether the device answered.

        Raises NackReceived if the OpenWebNet gateway refused a request and the device did not answer. Raises NotSent if a
        request could not be sent. Raises NoAnswer if the OpenWebNet gateway did not answer a request.
        """
        assert module.device is not None
        before = module.received
        refused: Request | None = None
        for request in module.device.read_requests:
            if not await self._commands.send(request, deadline, self._on_frame):
                refused = request
        if module.received > before:
            return True
        if refused is not None:
            raise NackReceived(f"NACK to {refused.to_frame()}")
        return await module.wait_until(lambda: module.received > before, min(EVENT_GRACE, deadline - self._clock.now()))

    # in the background

    def schedule(self, reads: Iterable[DrivenModule | StatusRequest]) -> None:
        """Read these modules, and send these status requests, in the background. Do each of them once."""
        self._scheduled.update(dict.fromkeys(reads))
        self._wake.set()

    def forget(self, module: DrivenModule) -> None:
        self._scheduled.pop(module, None)

    def clear(self) -> None:
        self._scheduled.clear()

    async def run(self, list_modules: Callable[[], Iterable[DrivenModule]]) -> None:
        loop = asyncio.get_running_loop()
        next_round = loop.time() + POLL_EVERY
        while True:
            while self._scheduled:
                first = next(iter(self._scheduled))
                del self._scheduled[first]
                await (self._read_group(first) if isinstance(first, StatusRequest) else self._poll(first))
            self._wake.clear()
            try:
                async with asyncio.timeout_at(next_round):
                    await self._wake.wait()
            except TimeoutError:
                next_round = loop.time() + POLL_EVERY
                self.schedule(list_modules())

    async def _read_group(self, request: StatusRequest) -> None:
        try:
            await self._commands.send(request, self._clock.now() + TIMEOUT, self._on_frame)
        except (NotSent, NoAnswer) as error:
            _log.debug("no answer", request=request.to_frame(), words=str(error))

    async def _poll(self, module: DrivenModule) -> None:
        assert module.device is not None
        if not module.device.read_requests:
            module.mark_received(self._clock.now())  # The device has no state: it is reachable if its gateway is reachable.
            self._report_change(module)
            return
        await self._subscribe(module)
        try:
            if not await self.read(module, self._clock.now() + TIMEOUT):
                self._count_miss(module, AbsenceReason.SILENT, f"no answer to {module.device.read_requests[0].to_frame()}")
        except NackReceived as nack:
            self._count_miss(module, AbsenceReason.REFUSED, str(nack))
        except (NoAnswer, BusBusy) as no_answer:
            self._count_miss(module, AbsenceReason.SILENT, str(no_answer))
        except NotSent as not_sent:
            _log.debug("not read", module_id=module.module.id, words=str(not_sent))

    async def _subscribe(self, module: DrivenModule) -> None:
        now = asyncio.get_running_loop().time()  # Nobody can set this clock.
        if module.device is None or now < module.subscribed_until:
            return
        for request in module.device.subscriptions:
            try:
                await self._commands.send(request, self._clock.now() + TIMEOUT, self._on_frame)
            except (NotSent, NoAnswer):
                return
        module.subscribed_until = now + UPDATED_FOR * 60 / 2

    def _count_miss(self, module: DrivenModule, why: AbsenceReason, evidence: str) -> None:
        module.missed_answers += 1
        if module.missed_answers > MISSES:
            return  # The absence is already reported.
        if module.missed_answers < MISSES:
            self.schedule((module,))
        else:
            self.set_absent(module, why, evidence)

    def set_absent(self, module: DrivenModule, why: AbsenceReason, evidence: str) -> None:
        now = self._clock.now()
        if why is AbsenceReason.SILENT and not module.received:
            why = AbsenceReason.NEVER_SEEN
        since = module.received_at if why is AbsenceReason.SILENT else now
        module.absence = Absence(why, since, evidence)
        self._report_change(module)
