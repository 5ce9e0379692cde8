"""A lock that threads and tasks share."""

import asyncio
import threading
from collections import deque
from concurrent.futures import Future

from domogate_client.errors import DeadlineExceeded

_LATE = "the deadline passed while another call refreshed the tokens"


class Turn:
    """The place of one thread or task in the queue of a lock."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None) -> None:
        self.loop = loop
        """The event loop of the task; None for a thread."""
        self.is_first: Future[None] = Future()


class SharedLock:
    """Held by one thread or one task at a time. Tasks of several event loops can wait for it, without blocking their loops."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._turns: deque[Turn] = deque()
        """The holder, and then those who wait."""

    @property
    def is_held(self) -> bool:
        return bool(self._turns)

    def acquire(self, timeout: float) -> Turn | None:
        """Wait in a thread. The result is for `release`. Raises DeadlineExceeded after this number of seconds."""
        loop = _running_loop()
        if loop is not None and any(turn.loop is loop for turn in tuple(self._turns)):
            # This thread runs the event loop of a task that must release the lock first. It would wait for ever, so it does
            # not wait. Two refreshes at the same time get the same refresh token.
            return None
        turn = self._enter(Turn(None))
        try:
            turn.is_first.result(max(0.0, timeout))
        except BaseException as error:
            self.release(turn)
            if isinstance(error, TimeoutError):
                raise DeadlineExceeded(_LATE, may_be_done=False) from None
            raise
        return turn

    async def acquire_async(self, timeout: float) -> Turn:
        """Wait in a task. The result is for `release`. Raises DeadlineExceeded after this number of seconds."""
        turn = self._enter(Turn(asyncio.get_running_loop()))
        try:
            async with asyncio.timeout(timeout):
                await asyncio.wrap_future(turn.is_first)
        except BaseException as error:
            self.release(turn)
            if isinstance(error, TimeoutError):
                raise DeadlineExceeded(_LATE, may_be_done=False) from None
            raise
        return turn

    def release(self, turn: Turn | None) -> None:
        """Leave the queue. The next in the queue gets the lock."""
        with self._guard:
            self._turns = deque(other for other in self._turns if other is not turn)
            self._call_first()

    def _enter(self, turn: Turn) -> Turn:
        with self._guard:
            self._turns.append(turn)
            self._call_first()
        return turn

    def _call_first(self) -> None:
        if not self._turns:
            return
        is_first = self._turns[0].is_first
        # A cancelled task leaves the queue itself.
        if not is_first.done() and is_first.set_running_or_notify_cancel():
            is_first.set_result(None)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
