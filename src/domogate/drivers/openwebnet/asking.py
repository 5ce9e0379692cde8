"""Questions to the devices of a bus: when somebody wants to know, and in the background, one after the other."""

import asyncio
from collections.abc import Callable, Iterable

import structlog

from domogate.domain.reachability import Absence, AbsenceReason
from domogate.drivers.openwebnet.driven import Driven
from domogate.drivers.openwebnet.energy import UPDATED_FOR
from domogate.drivers.openwebnet.frames import Frame, Request, StatusRequest
from domogate.drivers.openwebnet.line import CommandLine, NotSent, Unanswered
from domogate.ports import Clock

_log = structlog.get_logger(__name__)

GRACE = 1.5
"""Some answers come in the event session, after the ACK."""
EVERY = 300.0
"""Every device is asked so often, in case that something was missed, or is gone."""
PATIENCE = 10.0
"""For a question in the background."""
MISSES = 2
"""A busy bus may lose a frame; after so many in a row the device is taken to be gone."""


class Declined(Exception):
    """The gateway answered a question with NACK."""


class Asking:
    """Asks devices through the command line, and says of those that do not answer that they are gone."""

    def __init__(
        self, clock: Clock, line: CommandLine, on_frame: Callable[[Frame], None], tell: Callable[[Driven], None]
    ) -> None:
        self._clock = clock
        self._line = line
        self._on_frame = on_frame
        self._tell = tell
        self._wanted: dict[Driven | StatusRequest, None] = {}
        self._wake = asyncio.Event()

    async def ask(self, driven: Driven, deadline: float) -> bool:
        """Whether it was heard of. Raises Declined, NotSent, Unanswered."""
        assert driven.device is not None
        before = driven.heard
        declined: Request | None = None
        for question in driven.device.questions:
            if not await self._line.exchange(question, deadline, self._on_frame):
                declined = question
        if driven.heard > before:
            return True
        if declined is not None:
            raise Declined(f"NACK to {declined.to_frame()}")
        return await driven.until(lambda: driven.heard > before, min(GRACE, deadline - self._clock.now()))

    # in the background

    def want(self, asked: Iterable[Driven | StatusRequest]) -> None:
        """Ask these when there is time, each once."""
        self._wanted.update(dict.fromkeys(asked))
        self._wake.set()

    def forget(self, driven: Driven) -> None:
        self._wanted.pop(driven, None)

    def forget_all(self) -> None:
        self._wanted.clear()

    async def keep_asking(self, everything: Callable[[], Iterable[Driven]]) -> None:
        loop = asyncio.get_running_loop()
        next_round = loop.time() + EVERY
        while True:
            while self._wanted:
                first = next(iter(self._wanted))
                del self._wanted[first]
                await (self._ask_many(first) if isinstance(first, StatusRequest) else self._look_after(first))
            self._wake.clear()
            try:
                async with asyncio.timeout_at(next_round):
                    await self._wake.wait()
            except TimeoutError:
                next_round = loop.time() + EVERY
                self.want(everything())

    async def _ask_many(self, request: StatusRequest) -> None:
        try:
            await self._line.exchange(request, self._clock.now() + PATIENCE, self._on_frame)
        except (NotSent, Unanswered) as error:
            _log.debug("not answered", request=request.to_frame(), words=str(error))

    async def _look_after(self, driven: Driven) -> None:
        assert driven.device is not None
        if not driven.device.questions:
            driven.is_heard(self._clock.now())  # it has no state to ask for: that its gateway is there is what there is to know
            self._tell(driven)
            return
        await self._subscribe(driven)
        try:
            if not await self.ask(driven, self._clock.now() + PATIENCE):
                self._miss(driven, AbsenceReason.SILENT, f"no answer to {driven.device.questions[0].to_frame()}")
        except Declined as declined:
            self._miss(driven, AbsenceReason.REFUSED, str(declined))
        except Unanswered as unanswered:
            self._miss(driven, AbsenceReason.SILENT, str(unanswered))
        except NotSent as not_sent:
            _log.debug("not asked", module_id=driven.module.id, words=str(not_sent))

    async def _subscribe(self, driven: Driven) -> None:
        now = self._clock.now()
        if driven.device is None or now < driven.subscribed_until:
            return
        for request in driven.device.subscriptions:
            try:
                await self._line.exchange(request, now + PATIENCE, self._on_frame)
            except (NotSent, Unanswered):
                return
        driven.subscribed_until = now + UPDATED_FOR * 60 / 2

    def _miss(self, driven: Driven, why: AbsenceReason, evidence: str) -> None:
        driven.missed += 1
        if driven.missed > MISSES:
            return  # that it is gone has been told
        if driven.missed < MISSES:
            self.want((driven,))
        else:
            self.declare_gone(driven, why, evidence)

    def declare_gone(self, driven: Driven, why: AbsenceReason, evidence: str) -> None:
        now = self._clock.now()
        if why is AbsenceReason.SILENT and not driven.heard:
            why = AbsenceReason.NEVER_SEEN
        since = driven.heard_at if why is AbsenceReason.SILENT else now
        driven.absence = Absence(why, since, evidence)
        self._tell(driven)
