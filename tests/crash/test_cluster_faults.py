"""Faults of a cluster during orders: no rule of the checker is broken. `./dev soak --only cluster` does more."""

import sys
from pathlib import Path

import pytest

from support.cluster_rounds import open_cluster_rounds

pytestmark = pytest.mark.slow


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")  # seen with -rP


@pytest.mark.first
def test_a_cluster_survives_faults_of_gateways_and_of_its_database(tmp_path: Path) -> None:
    # A freeze is longer than a lease: another gateway drives the plants of the frozen one before it wakes up.
    with open_cluster_rounds(tmp_path, 6, say, shifts=(0.0, 5.0, -5.0), pause=0.8, freezes=(7.0, 7.5), rights=20) as rounds:
        with rounds.working():
            moves = rounds.witness.count_moves()
            rounds.run_one("gateway killed", "gateway frozen")
            assert rounds.witness.count_moves() > moves
            for _ in range(2):
                rounds.run_one("PostgreSQL restarted")
        rounds.check()
        say(rounds.summary)
