"""docs/management.md and docs/cli.md list every operation and every command that the code declares."""

import re
from pathlib import Path

from domogate.cli.commands import cli
from domogate.management.surface import SURFACE
from support.markdown import tables
from support.surface_docs import check_page

DOCS = Path(__file__).parents[2] / "docs"


def every_command() -> set[str]:
    found = set()
    for name, command in cli.load_all():
        below = getattr(command, "commands", None)
        found |= {f"domogate {name} {verb}" for verb in below} if below else {f"domogate {name}"}
    return found


class TestTheManagementPage:
    def test_it_has_every_operation_as_it_is_declared(self) -> None:
        check_page("management.md", SURFACE)


class TestTheCommandLinePage:
    def test_it_has_every_command(self) -> None:
        text = (DOCS / "cli.md").read_text()
        assert (
            sorted(command for command in every_command() if f"`{command}" not in text and command != "domogate version") == []
        )

    def test_it_names_no_flag_that_a_command_does_not_have(self) -> None:
        checked = 0
        for table in tables((DOCS / "cli.md").read_text()):
            for row in table:
                named = re.match(r"`domogate ([a-z-]+)(?: ([a-z-]+))?", row.get("command", ""))
                if named is None:
                    continue
                command = cli.load(named[1])
                command = getattr(command, "commands", {}).get(named[2], command)
                options = {flag for parameter in command.params for flag in (*parameter.opts, *parameter.secondary_opts)}
                flags = set(re.findall(r"`(--[a-z-]+)", row["meaning"]))
                assert flags <= options, row["command"]
                checked += len(flags)
        assert checked > 10
