"""kill -9 during commands: acknowledged commands are kept, the database is intact, the gateway restarts."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.kill_rounds import KillRounds, open_kill_rounds

pytestmark = pytest.mark.slow

ROUNDS = 5


@pytest.fixture
def rounds(tmp_path: Path) -> Iterator[KillRounds]:
    with open_kill_rounds(tmp_path, seed=9) as prepared:
        yield prepared


class TestKilledInTheMiddleOfCommands:
    def test_no_acknowledged_command_is_lost_and_the_database_is_intact(
        self, rounds: KillRounds, record_property: Callable[[str, object], None]
    ) -> None:
        for _ in range(ROUNDS):
            rounds.run_one()
        rounds.check_history()
        record_property("kill rounds", rounds.summary)
        assert rounds.acknowledged > ROUNDS, "too few orders for the rounds to mean anything"
        assert rounds.cut_off > 0, "no order was ever under way when the gateway was killed"
