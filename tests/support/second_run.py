"""Runs pytest. If only a few tests fail, they run once more, one after the other (Decision 0140).

    python -m support.second_run [ARGUMENTS OF PYTEST]

The command ends with 0 if the tests pass in the second run. It then prints their names: each of them has a fault to be mended.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

MOST_REPEATED = 3
"""If more tests fail, nothing is repeated: a second run would not help."""
_CACHE = Path(".pytest_cache", "v", "cache", "lastfailed")
_ONE_AFTER_THE_OTHER = ("-n", "0", "--last-failed", "--last-failed-no-failures=none")


def run(arguments: Sequence[str], folder: Path) -> int:
    """Run pytest in a folder. Returns its exit status."""
    found = folder / _CACHE
    found.unlink(missing_ok=True)
    status = _run_pytest(arguments, folder)
    failed = list(json.loads(found.read_text())) if found.exists() else []
    if status != pytest.ExitCode.TESTS_FAILED or not 0 < len(failed) <= MOST_REPEATED:
        return status
    _say(f"== {len(failed)} failed tests once more, one after the other")
    status = _run_pytest((*arguments, *_ONE_AFTER_THE_OTHER), folder)
    if status == pytest.ExitCode.OK:
        _say("== these tests failed next to the other tests and passed alone; their failures are above:", *failed)
    return status


def _run_pytest(arguments: Sequence[str], folder: Path) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", "-q", *arguments], cwd=folder, check=False).returncode


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:], Path.cwd()))
