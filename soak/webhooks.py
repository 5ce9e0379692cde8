"""Two hundred receivers and a gateway that is killed repeatedly: no event is lost, and each module's events stay in order."""

import time
from collections.abc import Callable
from pathlib import Path

from support.webhook_rounds import open_webhook_rounds

EACH = 50
"""Number of receivers for each of four plants."""
SETTLE = 180.0
"""In seconds. Everything must arrive in this time after the last kill."""
CHECK_EVERY = 10


def kill_with_webhooks(directory: Path, seconds: float, seed: int, say: Callable[[str], None]) -> str:
    """Raises AssertionError."""
    end = time.monotonic() + seconds
    with open_webhook_rounds(directory, seed) as deliveries:
        deliveries.add(EACH)
        time.sleep(6)  # The gateway looks for registrations of other processes every five seconds.
        while True:
            # After a check everything has arrived. Then the receivers stop answering, so that the kill interrupts running
            # attempts.
            all_arrived = deliveries.rounds.done % CHECK_EVERY == 0
            deliveries.rounds.run_one(deliveries.fall_silent if all_arrived else lambda: None)
            deliveries.receiver.answering.set()
            if deliveries.rounds.done % CHECK_EVERY == 0:
                deliveries.check(SETTLE)
                say(deliveries.summary)
            if time.monotonic() > end:
                break
        deliveries.check(SETTLE)
        return deliveries.summary
