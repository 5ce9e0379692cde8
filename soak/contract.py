"""The contract suite on a cluster of three gateways, through a balancer that chooses a gateway at random for each request."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GATEWAYS = 3


def try_contract(time_is_up: Callable[[], bool], say: Callable[[str], None]) -> str:
    """Run the suite again and again, at least once."""
    runs = 0
    while not runs or not time_is_up():
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/contract"]
        environment = {**os.environ, "DOMOGATE_TEST_GATEWAYS": str(GATEWAYS)}
        tests = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert tests.returncode == 0, f"tests/contract on {GATEWAYS} gateways:\n{tests.stdout[-8000:]}{tests.stderr[-2000:]}"
        runs += 1
        say(tests.stdout.splitlines()[-1])
    return f"{runs} runs of the contract suite on {GATEWAYS} gateways"
