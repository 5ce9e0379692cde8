"""The results of `domogate doctor`."""

import json
from typing import Any, NamedTuple

from support.command_line import CommandLine


class Found(NamedTuple):
    code: int
    findings: dict[str, dict[str, Any]]
    """By check. A check that has several results is here with its worst one."""

    def outcome(self, check: str) -> str:
        return str(self.findings[check]["outcome"])

    def says(self, check: str) -> str:
        return f"{self.findings[check]['says']} {self.findings[check]['advice']}"


def doctor(domogate: CommandLine, *flags: str) -> Found:
    result = domogate.run("doctor", "--json", *flags)
    assert "Traceback" not in result.output
    findings: dict[str, dict[str, Any]] = {}
    for one in sorted(json.loads(result.stdout), key=lambda one: ["ok", "note", "warning", "problem"].index(one["outcome"])):
        findings[one["check"]] = one
    return Found(result.exit_code, findings)
