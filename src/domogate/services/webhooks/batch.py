"""One batch of deliveries to one receiver.

Events of different modules are delivered in parallel. Events of the same module are delivered one after the other, in their
order.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from enum import Enum, auto

import msgspec

from domogate.domain.events import Change, StateChanged
from domogate.domain.ids import Id
from domogate.domain.webhooks import EndReason
from domogate.ports import Delivered, Undelivered

AT_ONCE = 4
"""The number of parallel posts to one receiver."""

_GONE = 410
_BUSY = frozenset({429, 502, 503, 504})
"""These statuses are not caused by the event: the receiver is overloaded, or a proxy cannot reach the receiver."""


class Outcome(Enum):
    """The result of one attempt to deliver an event."""

    NOT_TRIED = auto()
    SKIPPED = auto()
    """Nothing was sent, because the event is not for this webhook or the application may not see it."""
    ACCEPTED = auto()
    REFUSED = auto()
    """The receiver answered with a status other than 2xx, 410 and the statuses in `_BUSY`."""
    BUSY = auto()
    """The receiver answered with a status in `_BUSY`."""
    UNANSWERED = auto()
    GONE = auto()
    """The receiver wants no more deliveries: it answered 410."""

    @property
    def is_done(self) -> bool:
        """Whether the event needs no further attempt."""
        return self in (Outcome.SKIPPED, Outcome.ACCEPTED)


class Delivery(msgspec.Struct, frozen=True):
    """A change to send to a receiver. `attempts` is the number of earlier attempts."""

    change: Change
    attempts: int = 0

    @property
    def cursor(self) -> int:
        return self.change.cursor

    @property
    def module_id(self) -> Id | None:
        event = self.change.event
        return event.module_id if isinstance(event, StateChanged) else None


class DeliveryResult(msgspec.Struct, frozen=True):
    delivery: Delivery
    outcome: Outcome = Outcome.NOT_TRIED
    problem: str = ""
    retry_after: float | None = None
    is_transient: bool = False
    """Whether the receiver failed for a reason that may pass soon.

    The value is False for an answer with a status 3xx or 4xx other than 429. The receiver would probably give the same answer
    again.
    """


_DOWN = frozenset({Outcome.UNANSWERED, Outcome.BUSY})
_UP = frozenset({Outcome.ACCEPTED, Outcome.REFUSED})


def is_receiver_up(results: Sequence[DeliveryResult]) -> bool:
    """Whether the receiver accepted or refused at least one event. Then the receiver is not down."""
    return any(result.outcome in _UP for result in results)


def find_failures(results: Sequence[DeliveryResult]) -> list[DeliveryResult]:
    """Return the results that show that the receiver is down: it did not answer, or answered that it is busy.

    The list is empty if the receiver accepted or refused another event of the batch. Then the receiver is not down.
    """
    return [] if is_receiver_up(results) else [result for result in results if result.outcome in _DOWN]


Send = Callable[[Delivery], Awaitable[Delivered | None]]
"""A function that posts a delivery. It returns the answer, or None if the delivery must not be sent.

It raises Undelivered if there is no answer.
"""


class DeliveryBatch:
    """Sends deliveries. If a delivery must be tried again later, the later deliveries of the same module wait.

    The batch starts no more posts after `stop`, or when the receiver answers 410 or seems to be down.
    """

    def __init__(self, send: Send, *, is_too_old: Callable[[Delivery], bool]) -> None:
        """`is_too_old` says whether a delivery is given up if the receiver refuses it.

        After a delivery that is given up, the next delivery of the same module is sent. After a delivery that is tried again
        later, the next delivery of the same module waits.
        """
        self._send = send
        self._is_too_old = is_too_old
        self._free = asyncio.Semaphore(AT_ONCE)
        self._started = 0
        self._failed = False
        self._stopped = False

    def stop(self) -> None:
        """Start no more posts. Running posts continue until they end."""
        self._stopped = True

    @property
    def _is_over(self) -> bool:
        """Whether the batch starts no more posts.

        After a failure, posts still start until the batch has started `AT_ONCE` posts in total: other posts may succeed.
        """
        return self._stopped or (self._failed and self._started >= AT_ONCE)

    async def deliver(self, deliveries: Sequence[Delivery]) -> list[DeliveryResult]:
        """Send the deliveries, and return their results in the same order.

        If `send` raises Undelivered, the result of this delivery says so. Any other exception of `send` is raised when all
        running posts have ended.
        """
        by_module: dict[Id | None, list[Delivery]] = {}
        for delivery in deliveries:
            by_module.setdefault(delivery.module_id, []).append(delivery)
        if len(by_module) == 1:  # The usual case needs no further task.
            outcomes: Sequence[list[DeliveryResult] | BaseException] = [await self._deliver_module(deliveries)]
        else:
            outcomes = await asyncio.gather(*map(self._deliver_module, by_module.values()), return_exceptions=True)
        results: dict[int, DeliveryResult] = {}
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
            results |= {result.delivery.cursor: result for result in outcome}
        return [results.get(delivery.cursor) or DeliveryResult(delivery) for delivery in deliveries]

    async def _deliver_module(self, deliveries: Sequence[Delivery]) -> list[DeliveryResult]:
        results = []
        for delivery in deliveries:
            async with self._free:
                if self._is_over:
                    break
                result = await self._try(delivery)
            results.append(result)
            given_up = result.outcome is Outcome.REFUSED and self._is_too_old(delivery)
            if not result.outcome.is_done and not given_up:
                break
        return results

    async def _try(self, delivery: Delivery) -> DeliveryResult:
        self._started += 1
        try:
            answer = await self._send(delivery)
        except Undelivered as failure:
            self._failed = True
            return DeliveryResult(delivery, Outcome.UNANSWERED, str(failure), is_transient=True)
        except BaseException:
            self.stop()
            raise
        if answer is None:
            self._started -= 1
            return DeliveryResult(delivery, Outcome.SKIPPED)
        status = answer.status
        if 200 <= status < 300:
            return DeliveryResult(delivery, Outcome.ACCEPTED)
        if status == _GONE:
            self.stop()
            return DeliveryResult(delivery, Outcome.GONE, EndReason.RECEIVER_GONE)
        if status in _BUSY:
            self._failed = True
            return DeliveryResult(
                delivery, Outcome.BUSY, f"The receiver answered {status}.", answer.retry_after, is_transient=True
            )
        redirected = " Redirects are not followed: register the URL after the redirect." if 300 <= status < 400 else ""
        problem = f"The receiver answered {status}.{redirected}"
        return DeliveryResult(delivery, Outcome.REFUSED, problem, is_transient=status >= 500)
