"""The generated pages of the reference agree with the code."""

from pathlib import Path

import pytest

from docsite.building import ROOT
from docsite.reference.__main__ import PAGES, main
from docsite.reference.markdown import escape, write_table
from domogate.app.documents import SURFACES
from domogate.cli.commands import cli
from domogate.families import FAMILIES
from domogate.test_api.surface import SURFACE as TESTING
from support.markdown import headings, section, tables

API, CLI = ((ROOT / path).read_text(encoding="utf-8") for path in PAGES)


def test_the_pages_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().out


def test_an_old_page_is_noticed_and_written_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "api.md").write_text("# All operations\n")
    assert main(["--check"], tmp_path) == 1
    assert "docs/api.md differs; run ./dev reference" in capsys.readouterr().out
    assert (tmp_path / "docs" / "api.md").read_text() == "# All operations\n"
    assert main([], tmp_path) == 0
    assert main(["--check"], tmp_path) == 0


def test_every_operation_is_listed() -> None:
    families = {f"`{one.method} {family.prefix}/{one.contract_path}`" for family in FAMILIES for one in family.operations}
    ours = {f"`{one.method} {surface.prefix}{one.path}`" for surface in (*SURFACES, TESTING) for one in surface.operations}
    assert {row["request"] for table in tables(API) for row in table} == families | ours


def test_every_command_is_listed() -> None:
    wanted = []
    for name, command in cli.load_all():
        wanted += [f"domogate {name} {verb}" for verb in getattr(command, "commands", ())] or [f"domogate {name}"]
    assert [heading.text for heading in headings(CLI) if heading.level == 3] == wanted


@pytest.mark.parametrize("command", ["domogate serve", "domogate demo"])
def test_settings_are_not_repeated(command: str) -> None:
    text = section(CLI, command)
    assert "--access-token-lifetime" not in text
    assert "Every [setting](settings.md) is also an option" in text


def test_an_option_that_only_has_the_name_of_a_setting_is_explained() -> None:
    (table,) = tables(section(CLI, "domogate record"))
    assert "`--port PORT`" in {row["argument or option"] for row in table}


def test_a_text_is_shown_as_it_is() -> None:
    assert escape("DOMOGATE_* [[issuers]] `a*b` (docs/cli.md)") == r"DOMOGATE_\* \[\[issuers\]\] `a*b` ([cli](cli.md))"


def test_a_cell_that_readers_would_split_is_refused() -> None:
    with pytest.raises(ValueError, match="contains"):
        write_table(("name", "meaning"), [("`a|b`", "two words")])
