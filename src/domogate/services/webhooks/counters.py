"""What was delivered and what was not, counted for the metrics."""

from collections.abc import Iterable

from domogate.services.webhooks.batch import Result, Verdict


class DeliveryCounters:
    """Since the start of this process."""

    def __init__(self) -> None:
        self.delivered = 0
        self.refused = 0
        """Answered, and not taken; attempts, not events."""
        self.unanswered = 0
        self.dead = 0

    def count(self, results: Iterable[Result]) -> None:
        for result in results:
            if result.verdict is Verdict.TAKEN:
                self.delivered += 1
            elif result.verdict in (Verdict.REFUSED, Verdict.BUSY, Verdict.GONE):
                self.refused += 1
            elif result.verdict is Verdict.SILENT:
                self.unanswered += 1

    def by_outcome(self) -> dict[tuple[str, ...], float]:
        return {
            ("delivered",): self.delivered,
            ("refused",): self.refused,
            ("unanswered",): self.unanswered,
            ("dead",): self.dead,
        }
