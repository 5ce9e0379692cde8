"""Faults of disk, database, process and clock at random, first on SQLite, then on PostgreSQL."""

import time
from collections.abc import Callable
from pathlib import Path

from support.fault_rounds import open_fault_rounds

CHECK_EVERY = 5


def meet_faults(directory: Path, seconds: float, seed: int, say: Callable[[str], None]) -> str:
    """Raises AssertionError if an acknowledged order, event or delivery is lost, or if an answer is late."""
    summaries = []
    for number, (name, postgres) in enumerate((("SQLite", False), ("PostgreSQL", True))):
        end = time.monotonic() + seconds / 2
        with open_fault_rounds(directory / name, seed + number, postgres=postgres) as rounds:
            # Every kind once, then at random.
            for fault in sorted(rounds.list_faults()):
                if time.monotonic() < end:
                    rounds.run_one(fault)
            rounds.check_all()
            while time.monotonic() < end:
                rounds.run_one()
                if sum(rounds.met.values()) % CHECK_EVERY == 0:
                    rounds.check_all()
                    say(f"{name}: {rounds.summary}")
            rounds.check_all()
            summaries.append(f"{name}: {rounds.summary}")
    return " | ".join(summaries)
