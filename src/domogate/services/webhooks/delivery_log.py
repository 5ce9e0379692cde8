"""The last attempts to deliver to each webhook, in memory, for operators."""

from collections import OrderedDict, deque
from collections.abc import Awaitable, Sequence
from time import perf_counter

import msgspec

from domogate.domain.ids import Id
from domogate.ports import Clock, Delivered, Undelivered

MOST, _MOST_WEBHOOKS = 50, 1_000
"""The number of attempts that are kept for one webhook, and the number of webhooks whose attempts are kept."""


class DeliveryAttempt(msgspec.Struct, frozen=True):
    """One post to a receiver. `status` is None if the receiver did not answer; `problem` then says why."""

    at: float
    event_id: str
    """The id of the event. The id of a test event begins with `test_`."""
    attempt: int
    seconds: float
    status: int | None
    problem: str = ""


class DeliveryLog:
    """Keeps the last attempts of each webhook.

    If too many webhooks have attempts, the log forgets one of these webhooks. It is the webhook whose last attempt is the
    oldest.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._attempts: OrderedDict[Id, deque[DeliveryAttempt]] = OrderedDict()

    async def record(self, webhook_id: Id, event_id: str, attempt: int, post: Awaitable[Delivered]) -> Delivered:
        """Await the post and keep its result. Raises Undelivered."""
        at, began = self._clock.now(), perf_counter()
        try:
            answer = await post
        except Undelivered as failure:
            self._add(webhook_id, DeliveryAttempt(at, event_id, attempt, perf_counter() - began, None, str(failure)))
            raise
        self._add(webhook_id, DeliveryAttempt(at, event_id, attempt, perf_counter() - began, answer.status))
        return answer

    def list(self, webhook_id: Id) -> Sequence[DeliveryAttempt]:
        """Return the attempts to deliver to this webhook, the newest first."""
        return tuple(reversed(self._attempts.get(webhook_id, ())))

    def forget(self, webhook_id: Id) -> None:
        self._attempts.pop(webhook_id, None)

    def _add(self, webhook_id: Id, attempt: DeliveryAttempt) -> None:
        self._attempts.setdefault(webhook_id, deque(maxlen=MOST)).append(attempt)
        self._attempts.move_to_end(webhook_id)
        if len(self._attempts) > _MOST_WEBHOOKS:
            self._attempts.popitem(last=False)
