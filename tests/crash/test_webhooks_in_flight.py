"""kill -9 with deliveries under way: every event arrives at least once, in order per module; ids show duplicates."""

from collections.abc import Callable
from pathlib import Path

import pytest

from support.webhook_rounds import open_webhook_rounds

pytestmark = pytest.mark.slow

TIMES = 2
EACH = 2


def test_every_event_arrives_however_often_the_gateway_is_killed(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    with open_webhook_rounds(tmp_path, seed=11) as deliveries:
        deliveries.register(EACH)
        for _ in range(TIMES):
            # During attempts: the receiver got the event, and the gateway does not learn it.
            deliveries.rounds.run_one(deliveries.fall_silent)
            deliveries.receiver.answering.set()
            # And once more, while the next gateway repeats the deliveries.
            deliveries.rounds.run_one()
            deliveries.check()
            assert deliveries.repeated > 0, "no delivery was under way when the gateway was killed"
        record_property("webhooks", deliveries.summary)
