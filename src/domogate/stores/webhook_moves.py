"""Collects the new positions of webhooks in the change feed. So one write stores many positions (Decision 0109).

If no write runs, a position is written at once. While a write runs, new positions wait, and the next write stores all of them.
So under load the number of writes does not grow with the number of webhooks.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from domogate.domain.ids import Id
from domogate.stores.engine import Transaction

Move = tuple[Id, int]
"""The id of a webhook, and its new position."""
MoveAll = Callable[[Transaction, Sequence[Move]], Sequence[bool]]
"""Stores positions. For each of them, the result says whether the webhook is active."""
Submit = Callable[[Callable[[Transaction], Any]], asyncio.Future[Any]]
"""Queues a write, and returns the future of its result."""


class _Waiting(NamedTuple):
    move: Move
    future: asyncio.Future[bool]


class WebhookMoves:
    """The new positions of webhooks (cursors of the change feed) that wait for the next write.

    Use this object only on the thread of the event loop.
    """

    def __init__(self, submit: Submit, move_all: MoveAll) -> None:
        self._submit = submit
        self._move_all = move_all
        self._waiting: list[_Waiting] = []
        self._is_writing = False

    def add(self, webhook_id: Id, position: int) -> asyncio.Future[bool]:
        """Store the position that a webhook has reached in the change feed, now or with the next write.

        After the write, the result of the returned future says whether the webhook is active. If the write fails, the future
        has the error.
        """
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting((webhook_id, position), future))
        if not self._is_writing:
            self._write()
        return future

    def _write(self) -> None:
        # A position whose caller was cancelled is not stored.
        taken = [waiting for waiting in self._waiting if not waiting.future.done()]
        self._waiting = []
        if not taken:
            return
        moves = [waiting.move for waiting in taken]
        try:
            writing = self._submit(lambda tx: self._move_all(tx, moves))
        except Exception as error:  # the store is stopped
            _fail(taken, error)
            return
        self._is_writing = True
        writing.add_done_callback(lambda done: self._finish(taken, done))

    def _finish(self, taken: Sequence[_Waiting], done: asyncio.Future[Sequence[bool]]) -> None:
        self._is_writing = False
        error = asyncio.CancelledError() if done.cancelled() else done.exception()
        if error is not None:
            _fail(taken, error)
        else:
            for waiting, is_active in zip(taken, done.result(), strict=True):
                if not waiting.future.done():
                    waiting.future.set_result(is_active)
        self._write()


def _fail(taken: Sequence[_Waiting], error: BaseException) -> None:
    for waiting in taken:
        if waiting.future.done():
            continue
        if isinstance(error, asyncio.CancelledError):
            waiting.future.cancel()
        else:
            waiting.future.set_exception(error)
