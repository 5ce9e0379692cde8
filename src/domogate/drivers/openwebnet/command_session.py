"""The command session of one OpenWebNet gateway: one request at a time, each with its own deadline."""

import asyncio
from collections.abc import Awaitable

from domogate.drivers.openwebnet.frames import Ack, Busy, Nack, OnFrame, Request
from domogate.drivers.openwebnet.gateways import OpenWebNetGateway
from domogate.drivers.openwebnet.session import Session, SessionKind, SessionLost, SessionRefused, open_session
from domogate.ports import Clock

REPLY_TIMEOUT = 4.0
"""In seconds. A request without a complete answer after this time has failed, and the next request is sent."""

MOST_WAITING = 500
"""The largest number of waiting requests.

OpenWebNet gateways process about twenty frames per second. So any further request would time out.
"""

REFUSED_FOR = 61.0
"""In seconds. After a login that failed because of the password, there is no new attempt for this time: OpenWebNet gateways
count failures and lock clients out.
"""

IDLE_LIMIT = 15.0
"""In seconds. A session that was idle for longer is not used again: OpenWebNet gateways close idle sessions after 30 s."""


class NotSent(Exception):
    """The request was not sent, so no device can have executed it. The message says why."""


class DeadlinePassed(NotSent):
    """The deadline passed before the request was sent, or so many requests wait that the deadline would pass."""


class BusBusy(NotSent):
    """The OpenWebNet gateway answered that it could not send the request on the bus."""


class NoAnswer(Exception):
    """The request was sent, but no complete answer came. It is not known whether the request was executed."""


class CommandSession:
    """Sends each request at most once. It opens a session when it has a request to send, and closes an idle session."""

    def __init__(self, gateway: OpenWebNetGateway, clock: Clock) -> None:
        self._gateway = gateway
        self._clock = clock
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._session: Session | None = None
        self._idle_timer: asyncio.TimerHandle | None = None
        self._refusal = ""
        self._refused_until = 0.0

    async def send(self, request: Request, deadline: float, on_frame: OnFrame) -> bool:
        """Send the request and pass its answers to `on_frame`.

        Returns True for ACK, False for NACK. Raises NotSent if the request was not sent. Raises NoAnswer if it was sent but no
        complete answer came.
        """
        if self._waiting >= MOST_WAITING:
            raise DeadlinePassed(f"{self._gateway.address} has {self._waiting} waiting requests")
        self._waiting += 1
        try:
            async with asyncio.timeout(max(0.0, deadline - self._clock.now())):
                await self._turn.acquire()
        except TimeoutError as error:
            raise DeadlinePassed(f"{self._gateway.address} was busy with other requests until the deadline") from error
        finally:
            self._waiting -= 1
        try:
            return await self._exchange(request, deadline, on_frame)
        finally:
            self._turn.release()

    async def _exchange(self, request: Request, deadline: float, on_frame: OnFrame) -> bool:
        session = await self._find_session(deadline)
        remaining = deadline - self._clock.now()
        if remaining <= 0:
            raise DeadlinePassed("the deadline passed before it was sent")
        answered = False
        try:
            session.write(request)
            try:
                async with asyncio.timeout(min(remaining, REPLY_TIMEOUT)):
                    answer = await _read_answer(session, on_frame)
            except TimeoutError:
                # An answer that has arrived counts, even if this process itself was busy until the timeout.
                async with asyncio.timeout(0):
                    answer = await _read_answer(session, on_frame)
            answered = True
        except TimeoutError as error:
            raise NoAnswer(f"{self._gateway.address} did not answer {request.to_frame()}") from error
        except SessionLost as error:
            raise NoAnswer(f"{error} before it answered {request.to_frame()}") from error
        finally:
            if answered:
                self._close_when_idle()
            else:
                self.close()  # A late answer would be treated as the answer to the next request.
        if isinstance(answer, Busy):
            raise BusBusy(f"{self._gateway.address} could not send {request.to_frame()}: the bus is busy or cannot be reached")
        return isinstance(answer, Ack)

    async def _find_session(self, deadline: float) -> Session:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None
        if self._session is not None and self._session.is_open:
            return self._session
        self.close()
        if asyncio.get_running_loop().time() < self._refused_until:
            raise NotSent(self._refusal)
        try:
            async with asyncio.timeout(max(0.0, deadline - self._clock.now())):
                self._session = await open_session(self._gateway, SessionKind.COMMAND)
        except TimeoutError as error:
            raise DeadlinePassed(f"{self._gateway.address} opened no session before the deadline") from error
        except SessionLost as error:
            raise NotSent(str(error)) from error
        except SessionRefused as error:
            self._refusal, self._refused_until = str(error), asyncio.get_running_loop().time() + REFUSED_FOR
            raise NotSent(str(error)) from error
        return self._session

    def _close_when_idle(self) -> None:
        self._idle_timer = asyncio.get_running_loop().call_later(IDLE_LIMIT, self.close)

    def close(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None
        if self._session is not None:
            self._session.abandon()
            self._session = None

    def stop(self) -> Awaitable[None]:
        """Close the session immediately. The returned awaitable ends when the connection is closed."""
        session = self._session
        self.close()
        return _wait_closed(session)


async def _wait_closed(session: Session | None) -> None:
    if session is not None:
        await session.close()


async def _read_answer(session: Session, on_frame: OnFrame) -> Ack | Nack | Busy:
    while True:
        frame = await session.read()
        if isinstance(frame, Ack | Nack | Busy):
            return frame
        on_frame(frame)
