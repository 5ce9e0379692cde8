"""Counts deliveries for the metrics."""

from collections import Counter
from collections.abc import Iterable

from domogate.services.webhooks.batch import DeliveryResult, Outcome

_NAME_OF: dict[Outcome, str] = {
    Outcome.ACCEPTED: "delivered",
    Outcome.REFUSED: "refused",
    Outcome.BUSY: "refused",
    Outcome.GONE: "refused",
    Outcome.UNANSWERED: "unanswered",
}


class DeliveryCounters:
    """Counts deliveries since the start of this process.

    `dead` counts events that were given up. All other counters count attempts.
    """

    def __init__(self) -> None:
        self._counts = Counter(dict.fromkeys(("delivered", "refused", "unanswered", "dead"), 0))

    def count(self, results: Iterable[DeliveryResult]) -> None:
        self._counts.update(_NAME_OF[result.outcome] for result in results if result.outcome in _NAME_OF)

    def count_dead(self) -> None:
        self._counts["dead"] += 1

    def by_outcome(self) -> dict[tuple[str, ...], float]:
        return {(name,): count for name, count in self._counts.items()}
