"""Runs `domogate` in this process, with its own data folder."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from domogate.cli.commands import cli


class CommandLine:
    """`domogate`, with --data at the end unless the command needs no store."""

    def __init__(self, data: Path) -> None:
        self.data = data

    def bare(self, *arguments: str, input: str | None = None) -> Result:
        return CliRunner().invoke(cli, list(arguments), input=input, prog_name="domogate")

    def run(self, *arguments: str, input: str | None = None) -> Result:
        return self.bare(*arguments, "--data", str(self.data), input=input)

    def create(self) -> None:
        """Make an empty store."""
        self.good("estate", "import", "-", input="plants: []\n")

    def good(self, *arguments: str, input: str | None = None) -> str:
        """Its standard output. It must exit with 0."""
        result = self.run(*arguments, input=input)
        assert result.exit_code == 0, result.output
        return result.stdout

    def read(self, *arguments: str) -> Any:
        """Its output with --json."""
        return json.loads(self.good(*arguments, "--json"))

    def refused(self, *arguments: str, code: int = 1) -> str:
        """Its standard error. It must exit with this code, without a traceback and without standard output."""
        result = self.run(*arguments)
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.stderr
        assert result.stdout == ""
        return result.stderr


@pytest.fixture
def domogate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "200")
    return CommandLine(tmp_path / "data")
