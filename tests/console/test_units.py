"""The unit tests of `web/`, in Node."""

import subprocess
from pathlib import Path

import pytest

from support.node_packages import ROOT, use_node

pytestmark = pytest.mark.slow


def test_the_unit_tests_of_the_pages_pass(tmp_path: Path) -> None:
    use_node()
    assert (ROOT / "web" / "node_modules").is_dir(), "the packages of web/ are not installed: run ./dev web"
    done = subprocess.run(["node", "test/run.mjs", tmp_path], cwd=ROOT / "web", capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# fail 0" in done.stdout or "fail 0" in done.stdout
