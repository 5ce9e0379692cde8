"""The command session of one gateway: one question at a time, each under its own deadline."""

import asyncio
from collections.abc import Awaitable, Callable

from domogate.drivers.openwebnet.frames import Ack, Frame, Nack, Request
from domogate.drivers.openwebnet.gateways import OpenWebNetGateway
from domogate.drivers.openwebnet.session import Session, SessionKind, SessionLost, SessionRefused, open_session
from domogate.ports import Clock

REPLY_PATIENCE = 4.0
"""After so many seconds without the end of an answer the gateway is taken to have none, and others get their turn."""

MOST_WAITING = 500
"""Gateways take some twenty frames a second: whoever comes behind so many would only wait in vain."""

REFUSED_FOR = 61.0
"""A gateway that refused the password is left alone for so long: it counts, and locks out whoever insists."""

MOST_IDLE = 15.0
"""Gateways hang up after half a minute; a session unused for longer than this is not used any more."""


class NotSent(Exception):
    """The gateway was not told: no connection, or no time."""


class NoTime(NotSent):
    """Its time was up before its turn came."""


class Unanswered(Exception):
    """The gateway was told, and did not answer: whether it did what it was told is not known."""


class CommandLine:
    """Sends each request at most once. Opens a session when one is needed and closes it when it is not."""

    def __init__(self, gateway: OpenWebNetGateway, clock: Clock) -> None:
        self._gateway = gateway
        self._clock = clock
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._session: Session | None = None
        self._hang_up: asyncio.TimerHandle | None = None
        self._refusal = ""
        self._refused_until = 0.0

    async def exchange(self, request: Request, deadline: float, on_frame: Callable[[Frame], None]) -> bool:
        """Send it and hand on what is answered; True is ACK, False is NACK. Raises NotSent, Unanswered."""
        if self._waiting >= MOST_WAITING:
            raise NoTime(f"{self._gateway.address} has {self._waiting} requests to answer first")
        self._waiting += 1
        try:
            async with asyncio.timeout(max(0.0, deadline - self._clock.now())):
                await self._turn.acquire()
        except TimeoutError as error:
            raise NoTime(f"{self._gateway.address} was busy with others until the time was up") from error
        finally:
            self._waiting -= 1
        try:
            return await self._exchange(request, deadline, on_frame)
        finally:
            self._turn.release()

    async def _exchange(self, request: Request, deadline: float, on_frame: Callable[[Frame], None]) -> bool:
        session = await self._find_session(deadline)
        remaining = deadline - self._clock.now()
        if remaining <= 0:
            raise NoTime("the time was up before it could be sent")
        answered = False
        try:
            session.write(request)
            try:
                async with asyncio.timeout(min(remaining, REPLY_PATIENCE)):
                    acknowledged = await _read_answer(session, on_frame)
            except TimeoutError:
                # An answer that is there counts, also when this loop itself was held up until the time was over.
                async with asyncio.timeout(0):
                    acknowledged = await _read_answer(session, on_frame)
            answered = True
        except TimeoutError as error:
            raise Unanswered(f"{self._gateway.address} did not answer {request.to_frame()}") from error
        except SessionLost as error:
            raise Unanswered(f"{error} before it answered {request.to_frame()}") from error
        finally:
            if answered:
                self._keep_for_a_while()
            else:
                self.close()  # what it says later would be taken for the answer to something else
        return acknowledged

    async def _find_session(self, deadline: float) -> Session:
        if self._hang_up is not None:
            self._hang_up.cancel()
            self._hang_up = None
        if self._session is not None and self._session.is_open:
            return self._session
        self.close()
        if asyncio.get_running_loop().time() < self._refused_until:
            raise NotSent(self._refusal)
        try:
            async with asyncio.timeout(max(0.0, deadline - self._clock.now())):
                self._session = await open_session(self._gateway, SessionKind.COMMAND)
        except TimeoutError as error:
            raise NoTime(f"{self._gateway.address} opened no session until the time was up") from error
        except SessionLost as error:
            raise NotSent(str(error)) from error
        except SessionRefused as error:
            self._refusal, self._refused_until = str(error), asyncio.get_running_loop().time() + REFUSED_FOR
            raise NotSent(str(error)) from error
        return self._session

    def _keep_for_a_while(self) -> None:
        self._hang_up = asyncio.get_running_loop().call_later(MOST_IDLE, self.close)

    def close(self) -> None:
        if self._hang_up is not None:
            self._hang_up.cancel()
            self._hang_up = None
        if self._session is not None:
            self._session.abandon()
            self._session = None

    def stop(self) -> Awaitable[None]:
        """It is closed at once; what is returned waits until nothing is left of it."""
        session = self._session
        self.close()
        return _wait_closed(session)


async def _wait_closed(session: Session | None) -> None:
    if session is not None:
        await session.close()


async def _read_answer(session: Session, on_frame: Callable[[Frame], None]) -> bool:
    while True:
        match await session.read():
            case Ack():
                return True
            case Nack():
                return False
            case frame:
                on_frame(frame)
