"""The soak itself runs, ends by itself, and says by its exit code whether everything held."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent.parent


def soak(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "soak", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=100, check=False
    )


class TestTheSoak:
    def test_a_campaign_runs_for_its_time_and_holds(self) -> None:
        done = soak("--minutes", "0.05", "--only", "bodies", "--seed", "7")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "--seed 7" in done.stdout
        assert "All held: bodies" in done.stdout

    def test_it_wants_some_time(self) -> None:
        done = soak("--minutes", "0")
        assert done.returncode == 2
        assert "--minutes" in done.stderr

    def test_it_knows_its_campaigns(self) -> None:
        done = soak("--only", "miracles")
        assert done.returncode == 2
        assert all(name in done.stderr for name in ("kills", "fuzzing", "rights", "memory", "bodies"))
