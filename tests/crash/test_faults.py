"""Faults of disk, database, process and clock during orders: nothing that was acknowledged is lost. `./dev soak` does more."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.fault_rounds import FaultRounds, count_turns, open_fault_rounds

pytestmark = pytest.mark.slow


@pytest.fixture
def on_sqlite(tmp_path: Path) -> Iterator[FaultRounds]:
    with open_fault_rounds(tmp_path, seed=4, postgres=False) as rounds:
        yield rounds


@pytest.fixture
def on_postgres(tmp_path: Path) -> Iterator[FaultRounds]:
    with open_fault_rounds(tmp_path, seed=5, postgres=True) as rounds:
        yield rounds


class TestFaults:
    def test_of_disk_process_and_clock_lose_nothing(self, on_sqlite: FaultRounds) -> None:
        for fault in ("disk full", "disk read-only", "process frozen", "clock ahead"):
            on_sqlite.run_one(fault)
        on_sqlite.check_all()
        sys.stdout.write(f"{on_sqlite.summary}\n")  # seen with -rP
        assert on_sqlite.refused[500] > 0, "the disk never failed an order"

    def test_of_a_database_server_lose_nothing(self, on_postgres: FaultRounds) -> None:
        for fault in ("database frozen", "database killed", "database restarted"):
            on_postgres.run_one(fault)
        on_postgres.check_all()
        sys.stdout.write(f"{on_postgres.summary}\n")  # seen with -rP
        assert on_postgres.refused[500] > 0, "the database never failed an order"


class TestTheCheck:
    def event(self, number: int, on: bool) -> dict[str, object]:
        return {"id": str(number), "data": {"moduleId": "a", "state": {"on": on}}}

    def test_it_counts_turns_once_and_in_order(self) -> None:
        events = [self.event(3, True), self.event(1, True), self.event(2, False), self.event(3, True), self.event(4, True)]
        assert count_turns(events) == {"a": 3}

    def test_it_finds_an_acknowledged_order_without_an_event(
        self, on_sqlite: FaultRounds, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("support.fault_rounds.RECOVERED_WITHIN", 0.5)
        next(iter(on_sqlite.rooms[0].plugs.values())).turned += 1
        with pytest.raises(AssertionError, match="stream: 1 plugs have fewer events"):
            on_sqlite.check_all()
