"""Three gateways on one PostgreSQL and one NATS server, and faults at random: all rules of a cluster hold."""

import time
from collections.abc import Callable
from pathlib import Path

from support.cluster_rounds import open_cluster_rounds

READY_WITHIN = 5.0
"""In seconds, after PostgreSQL is back."""
RESTARTS = 20
REPORT_EVERY = 5


def break_a_cluster(directory: Path, seconds: float, seed: int, say: Callable[[str], None]) -> str:
    """Raises AssertionError if a rule is broken (`tests/support/cluster_history.py` has the rules)."""
    with open_cluster_rounds(directory, seed, say) as rounds:
        end = time.monotonic() + seconds
        with rounds.working():
            # Every kind once, then at random.
            waiting = sorted(rounds.faults.known)
            while time.monotonic() < end or not rounds.met:
                rounds.run_one(*(waiting.pop() for _ in waiting[:1]))
                if rounds.met.total() % REPORT_EVERY == 0:
                    say(rounds.summary)
        rounds.check()
        return rounds.summary


def restart_postgres(directory: Path, seconds: float, seed: int, say: Callable[[str], None]) -> str:
    """Restart PostgreSQL at least twenty times. Raises AssertionError if a rule is broken or a gateway is not ready in time."""
    with open_cluster_rounds(directory, seed, say) as rounds:
        end = time.monotonic() + seconds
        with rounds.working():
            while time.monotonic() < end or len(rounds.faults.ready_after) < RESTARTS:
                rounds.run_one("PostgreSQL restarted")
        rounds.check()
        late = [f"{after:.1f} s" for after in rounds.faults.ready_after if after > READY_WITHIN]
        assert not late, f"not ready within {READY_WITHIN:g} s of the return of PostgreSQL: {', '.join(late)}; {rounds.summary}"
        return rounds.summary
