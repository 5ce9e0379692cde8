"""A whole gateway while its broker is flooded with messages: a short form of the soak test."""

import random
from pathlib import Path

import pytest

from support.gateway import eventually
from support.mqtt_flood import flooded_gateway, messages_for

pytestmark = pytest.mark.slow

LAMPS = 50
RATE = 5_000


class TestFlood:
    def test_lamps_are_read_meanwhile_and_show_the_newest_afterwards(self, tmp_path: Path) -> None:
        chance = random.Random(4)
        with flooded_gateway(tmp_path, LAMPS) as flooded:
            flooded.warm_up(chance)
            messages = messages_for(LAMPS, RATE, chance)
            with flooded.flooded(messages, RATE):
                assert flooded.read_for(1.0, chance), "E8 answers, and 200 each time"
            eventually(lambda: not flooded.find_stale(messages), "every lamp shows what was last said of it")
