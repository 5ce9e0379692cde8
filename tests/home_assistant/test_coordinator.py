"""The coordinator of the integration, with a gateway that fails at a chosen moment."""

import json
import subprocess
from pathlib import Path

import pytest

from integrations.homeassistant import environment
from support.http import PATIENCE

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
CHECKS = ROOT / "tests" / "support" / "coordinator_checks.py"


CHECK_NAMES = (
    "a_failed_read_is_repeated",
    "sockets_appear_with_the_first_state",
    "a_removed_module_is_refused_in_words",
    "programs_with_names_of_other_presets_can_be_chosen",
)


def test_all_checks_pass(tmp_path: Path) -> None:
    """`support/coordinator_checks.py` has the checks: Home Assistant needs another environment than these tests.

    One process runs all of them, because it needs more than a second to import Home Assistant.
    """
    try:
        python = environment.install()
    except environment.NotInstalled as reason:
        pytest.skip(str(reason))
    command = [str(python), "-P", str(CHECKS), str(ROOT), str(tmp_path)]
    done = subprocess.run(command, env=environment.variables(), capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    assert found.keys() == set(CHECK_NAMES)
    assert {name: problem for name, problem in found.items() if problem} == {}, done.stderr
