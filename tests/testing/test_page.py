"""The code of docs/testing-apps.md runs."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from support.markdown import code_blocks
from support.named_code import ROOT

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs" / "testing-apps.md").read_text()
DEADLINE = 240.0


def only_block(language: str, *, having: str) -> str:
    (text,) = [block for block in code_blocks(PAGE, language) if having in block]
    return text


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment in which `domogate` is the command of this checkout."""
    command = tmp_path / "bin" / "domogate"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m domogate.cli "$@"\n')
    command.chmod(0o755)
    return {**os.environ, "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}"}


def run(arguments: list[str], folder: Path, environment: Mapping[str, str]) -> str:
    done = subprocess.run(arguments, cwd=folder, env=environment, capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class TestPage:
    def test_the_shell_commands_work(self, tmp_path: Path, environment: dict[str, str]) -> None:
        shown = run(["sh", "-ec", only_block("sh", having="--testing")], tmp_path, environment)
        assert '"fault":"503"' in shown
        assert '{"items":[],"next":null}' in shown

    def test_the_python_code_without_pytest_works(self, tmp_path: Path, environment: dict[str, str]) -> None:
        run([sys.executable, "-c", only_block("python", having="with Gateway.start()")], tmp_path, environment)

    def test_the_tests_in_javascript_pass(self, tmp_path: Path, environment: dict[str, str]) -> None:
        (tmp_path / "kit.test.mjs").write_text(only_block("js", having="node:test"))
        shell = (
            "domogate demo --testing --port 0 --ready-file ready.json & gateway=$!\n"
            "until [ -s ready.json ]; do sleep 0.1; done\n"
            "node --test kit.test.mjs; status=$?; kill $gateway; exit $status"
        )
        assert "pass 2" in run(["sh", "-c", shell], tmp_path, environment)
