"""A command stays easy to follow: one E1 request passes few files."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

MOST_FILES = 35


def trace() -> tuple[int, str]:
    root = Path(__file__).parent.parent
    command = [sys.executable, "-m", "benchmarks.trace", "E1"]
    output = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=120, check=True).stdout
    summary = re.search(r"E1: (\d+) files, (\d+) moves", output)
    assert summary is not None, output
    files, moves = int(summary[1]), int(summary[2])
    assert moves > files > 20, "the trace is complete"
    return files, output


@pytest.mark.timeout(400)
def test_e1_passes_few_files() -> None:
    # On a slow machine, a timer of another part can run in the middle of the request. Its files are then in the trace.
    for _ in range(3):
        files, output = trace()
        if files <= MOST_FILES:
            return
    raise AssertionError(output)
