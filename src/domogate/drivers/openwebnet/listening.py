"""The event session of one gateway, kept up: all that happens on the bus comes through it."""

import asyncio
import random
from collections.abc import Awaitable, Callable

import structlog

from domogate.domain.reachability import AbsenceReason
from domogate.drivers.openwebnet.frames import ACK, Frame
from domogate.drivers.openwebnet.gateways import OpenWebNetGateway
from domogate.drivers.openwebnet.session import Session, SessionKind, SessionLost, SessionRefused, open_session

_log = structlog.get_logger(__name__)
_chance = random.SystemRandom()

QUIET = 60.0
"""After so many seconds without a frame it is tried whether the gateway is still there."""
FIRST_DELAY, LONGEST_DELAY = 1.0, 30.0
FIRST_DELAY_REFUSED, LONGEST_DELAY_REFUSED = 61.0, 600.0
"""Three wrong passwords within a minute lock all out for a minute (OpenWebNet, HMAC authentication): one a minute at most."""
HEALTHY = 10.0
"""A session that lasted so long ends the series of failures before it."""
_LOG_EVERY = 60.0


class Listening:
    """Opens the event session, hands on what it hears, and opens it again when it is lost, ever less often."""

    def __init__(
        self,
        gateway: OpenWebNetGateway,
        *,
        on_up: Callable[[], None],
        on_frame: Callable[[Frame], None],
        on_down: Callable[[AbsenceReason, str], None],
        is_there: Callable[[], Awaitable[bool]],
    ) -> None:
        self._gateway = gateway
        self._on_up = on_up
        self._on_frame = on_frame
        self._on_down = on_down
        self._is_there = is_there
        self._failures = 0
        self._log_again_at = 0.0

    async def keep_listening(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            try:
                await self._listen()
            except SessionLost as lost:
                why, words, first, longest = AbsenceReason.CONNECTION_LOST, str(lost), FIRST_DELAY, LONGEST_DELAY
            except SessionRefused as refused:
                why, words, first, longest = AbsenceReason.REFUSED, str(refused), FIRST_DELAY_REFUSED, LONGEST_DELAY_REFUSED
            if loop.time() - began >= HEALTHY:
                self._failures = 0
            delay = min(longest, first * 2 ** min(self._failures, 10))
            self._failures += 1
            _log.warning("no event session", gateway=self._gateway.name, why=str(why), words=words, again_in=round(delay, 1))
            self._on_down(why, words)
            # Jitter lengthens the wait for a gateway that counts refusals, and shortens it for one that is only away.
            await asyncio.sleep(
                delay * (_chance.uniform(1.0, 1.2) if why is AbsenceReason.REFUSED else _chance.uniform(0.5, 1.0))
            )

    async def _listen(self) -> None:
        session = await open_session(self._gateway, SessionKind.EVENT)
        try:
            _log.info("event session open", gateway=self._gateway.name)
            self._on_up()
            while True:
                await self._listen_once(session)
        finally:
            await session.close()

    async def _listen_once(self, session: Session) -> None:
        unreadable = session.unreadable
        try:
            async with asyncio.timeout(QUIET):
                frames = await session.read_all()
        except TimeoutError:
            session.write(ACK)  # the one thing that may be said here: a dead connection answers it with a reset
            if not await self._is_there():
                raise SessionLost(f"{session.name} said nothing for {QUIET:g} s and answers no question") from None
            return
        finally:
            self._tell_unreadable(session.unreadable - unreadable)
        for frame in frames:
            self._on_frame(frame)
        await asyncio.sleep(0)  # in a flood, others get their turn

    def _tell_unreadable(self, count: int) -> None:
        now = asyncio.get_running_loop().time()
        if count and now >= self._log_again_at:
            self._log_again_at = now + _LOG_EVERY
            _log.warning("frames that cannot be read were passed over", gateway=self._gateway.name, frames=count)
