"""Short delays for a receiver that works, but sometimes fails. The delay grows with the share of failed attempts."""

from collections import Counter
from collections.abc import Iterable, Sequence

from domogate.ports import Clock
from domogate.services.webhooks.backoff import FIRST
from domogate.services.webhooks.batch import DeliveryResult, Outcome

AT_MOST = 8
"""A receiver counts as down after this number of failures in a row.

An event gets long delays after it has failed this number of times.
"""
_WEIGHT = 1 / 8
"""The share of failed attempts is a moving average. The newest attempt has this weight in the average."""
_DELAY = 0.1
"""The delay in seconds if half of the attempts fail. The delay is proportional to failed attempts / successful attempts."""


class ShortRetries:
    """The results of the recent attempts to deliver events to one receiver.

    These results are not stored. So in a new process, the receiver counts as down until it accepts an event. While it counts as
    down, the delays after failures are long (`backoff.py`).
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._share = 1.0
        self._in_a_row = AT_MOST
        self._failures_of: Counter[int] = Counter()
        """The number of failures of each event that is tried again soon, by cursor."""
        self._until = 0.0

    def count(self, results: Iterable[DeliveryResult]) -> None:
        for result in results:
            if result.outcome is Outcome.ACCEPTED:
                self._share -= _WEIGHT * self._share
                self._in_a_row = 0
            elif result.is_transient:
                self._share += _WEIGHT * (1.0 - self._share)
                self._in_a_row += 1
            if not result.is_transient:
                self.forget(result.delivery.cursor)

    def forget(self, cursor: int) -> None:
        self._failures_of.pop(cursor, None)

    def may_pass(self, failures: Sequence[DeliveryResult]) -> bool:
        """Whether a short delay is enough after these failures: the receiver works, and may accept the events soon.

        False if the receiver has failed `AT_MOST` times in a row, or if it asked for a delay longer than `FIRST` seconds.
        """
        return self._in_a_row < AT_MOST and all((result.retry_after or 0.0) <= FIRST for result in failures)

    def take(self, results: Iterable[DeliveryResult]) -> list[DeliveryResult]:
        """Return the results of events that are tried again soon, and count their failures.

        Call this method only once for each batch. Each call counts the failures.
        """
        return [result for result in results if self._take(result)]

    def _take(self, result: DeliveryResult) -> bool:
        if not result.is_transient or result.delivery.attempts or not self.may_pass([result]):
            return False
        self._failures_of[result.delivery.cursor] += 1
        return self._failures_of[result.delivery.cursor] < AT_MOST

    def pause(self, failures: Iterable[DeliveryResult]) -> float:
        """Begin a short delay after these failed deliveries. Return the time at which the delay ends."""
        asked_for = max(result.retry_after or 0.0 for result in failures)
        delay = _DELAY * self._share / max(1.0 - self._share, _DELAY / FIRST)
        self._until = self._clock.now() + max(asked_for, delay)
        return self._until

    @property
    def paused_until(self) -> float | None:
        """The time at which the short delay for the receiver ends, or None if there is no delay.

        A short delay is at most `FIRST` seconds (`backoff.py`). If more seconds remain, the clock was set back, and the delay
        counts as ended.
        """
        return self._until if 0.0 < self._until - self._clock.now() <= FIRST else None
