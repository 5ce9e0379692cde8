"""Expensive tests in their long form: ten times as many examples, and new ones; pages in all widths and colour schemes."""

import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from support.examples import LONG_PROFILE

ROOT = Path(__file__).resolve().parent.parent


def _find_files(folder: str, words: str) -> tuple[str, ...]:
    files = sorted((ROOT / "tests" / folder).rglob("test_*.py"))
    return tuple(str(file.relative_to(ROOT)) for file in files if words in file.read_text())


PAGES = tuple(sorted({*_find_files("browser", "find_problems_everywhere"), *_find_files("browser", "is_long()")}))
PROPERTIES = (
    "tests/contract/test_generated_estates.py",
    "tests/end_to_end/test_identity_machine.py",
    "tests/estate/test_printing.py",
    "tests/estate/test_repeated_records.py",
    "tests/estate/test_simple_yaml.py",
    "tests/estate/test_strictness.py",
    "tests/families/test_body.py",
    "tests/management/test_accepted_is_readable.py",
    "tests/services/audit/test_audit_noting.py",
    "tests/services/authorization/test_secrets.py",
    "tests/services/events/test_resuming.py",
    "tests/services/events/test_streams_machine.py",
    "tests/services/rights/test_callers_agree.py",
    "tests/services/rights/test_guests_everywhere.py",
    "tests/services/webhooks/test_deliveries_machine.py",
    "tests/stores/test_authorization_machine.py",
    "tests/stores/test_estate_roundtrip.py",
    *sorted({*_find_files("", "is_long()")} - {*PAGES}),  # tests that try more variants in their long form
)
_TIMEOUT = 3600


def run_long(files: Sequence[str], time_is_up: Callable[[], bool], chance: random.Random, say: Callable[[str], None]) -> str:
    """Run the files one after the other in random order, at least one."""
    tried = 0
    while True:
        for file in chance.sample(files, len(files)):
            if tried and time_is_up():
                return f"{tried} runs of a file of tests"
            seed = chance.randrange(2**32)
            done = subprocess.run(
                [
                    *(sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-o", f"timeout={_TIMEOUT}"),
                    *(f"--hypothesis-seed={seed}", file),
                ],
                cwd=ROOT,
                env={**os.environ, "HYPOTHESIS_PROFILE": LONG_PROFILE},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, f"{file} with --hypothesis-seed={seed}:\n{done.stdout[-8000:]}{done.stderr[-2000:]}"
            tried += 1
            say(f"{file}: {done.stdout.splitlines()[-1]}")
