"""The event session of one OpenWebNet gateway. It receives all events of the bus. If it is lost, it is opened again."""

import asyncio
from collections.abc import Awaitable, Callable

from domogate.common.log import get_logger
from domogate.domain.reachability import AbsenceReason
from domogate.drivers.backoff import Backoff
from domogate.drivers.openwebnet.frames import ACK, OnFrame
from domogate.drivers.openwebnet.gateways import OpenWebNetGateway
from domogate.drivers.openwebnet.session import Session, SessionKind, SessionLost, SessionRefused, open_session

_log = get_logger(__name__)

SILENCE_LIMIT = 60.0
"""In seconds. If no frame arrives for this time, the driver checks whether the OpenWebNet gateway still answers."""
FIRST_DELAY, LONGEST_DELAY = 1.0, 30.0
FIRST_DELAY_REFUSED, LONGEST_DELAY_REFUSED = 61.0, 600.0
"""In seconds: the first and the longest pause after a login that failed because of the password, without the random part.

A random part makes each pause up to 20 % longer.

Three wrong passwords in a minute lock all clients out for a minute (OpenWebNet, HMAC authentication).
"""
_LOG_EVERY = 60.0


class EventSession:
    """Opens the event session and passes its frames to `on_frame`.

    After a loss it opens the session again, with growing pauses. It calls `on_up` when the session is open. It calls `on_down`
    when the session is lost or cannot be opened. `check_alive` says whether a silent OpenWebNet gateway still answers.
    """

    def __init__(
        self,
        gateway: OpenWebNetGateway,
        *,
        on_up: Callable[[], None],
        on_frame: OnFrame,
        on_down: Callable[[AbsenceReason, str], None],
        check_alive: Callable[[], Awaitable[bool]],
    ) -> None:
        self._gateway = gateway
        self._on_up = on_up
        self._on_frame = on_frame
        self._on_down = on_down
        self._check_alive = check_alive
        self._log_again_at = 0.0

    async def run(self) -> None:
        loop, losses, refusals = asyncio.get_running_loop(), Backoff(), Backoff()
        while True:
            began = loop.time()
            try:
                await self._run_session()
            except SessionLost as lost:
                why, words = AbsenceReason.CONNECTION_LOST, str(lost)
            except SessionRefused as refused:
                why, words = AbsenceReason.REFUSED, str(refused)
            losses.connection_ended(loop.time() - began)
            refusals.connection_ended(loop.time() - began)
            # After a refusal, jitter makes the pause longer, because the gateway may count refusals. If the gateway is only
            # unreachable, jitter makes the pause shorter.
            if why is AbsenceReason.REFUSED:
                pause = refusals.next_pause(FIRST_DELAY_REFUSED, LONGEST_DELAY_REFUSED, (1.0, 1.2))
            else:
                pause = losses.next_pause(FIRST_DELAY, LONGEST_DELAY, (0.5, 1.0))
            _log.warning(
                "the event session is not open", gateway=self._gateway.name, why=str(why), words=words, again_in=round(pause, 1)
            )
            self._on_down(why, words)
            await asyncio.sleep(pause)

    async def _run_session(self) -> None:
        session = await open_session(self._gateway, SessionKind.EVENT)
        try:
            _log.info("the event session is open", gateway=self._gateway.name)
            self._on_up()
            while True:
                await self._receive_frames(session)
        finally:
            await session.close()

    async def _receive_frames(self, session: Session) -> None:
        unreadable = session.unreadable
        try:
            async with asyncio.timeout(SILENCE_LIMIT):
                frames = await session.read_all()
        except TimeoutError:
            session.write(ACK)  # The only frame that is allowed here. A dead connection answers it with a reset.
            if not await self._check_alive():
                raise SessionLost(f"{session.name} sent nothing for {SILENCE_LIMIT:g} s and does not answer requests") from None
            return
        finally:
            self._log_unreadable(session.unreadable - unreadable)
        for frame in frames:
            self._on_frame(frame)
        await asyncio.sleep(0)  # Other tasks can run while many events arrive.

    def _log_unreadable(self, count: int) -> None:
        now = asyncio.get_running_loop().time()
        if count and now >= self._log_again_at:
            self._log_again_at = now + _LOG_EVERY
            _log.warning("unreadable frames were ignored", gateway=self._gateway.name, frames=count)
