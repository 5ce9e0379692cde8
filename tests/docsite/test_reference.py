"""The generated pages of the reference agree with the code."""

import shutil
from pathlib import Path

import pytest

from docsite.building import ROOT
from docsite.reference.__main__ import PAGES, TABLES, main
from docsite.reference.errors import NOT_WRITTEN, write_faults
from docsite.reference.markdown import escape, write_table
from docsite.reference.parts import read_table, write_parts
from domogate.app.documents import SURFACES
from domogate.cli.commands import cli
from domogate.families import FAMILIES
from domogate.settings.declared import DECLARED
from domogate.test_api.surface import SURFACE as TESTING
from support.markdown import headings, section, tables

API, CLI = ((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("api.md", "cli-reference.md"))


def test_the_pages_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().out


def copy_pages(target: Path) -> None:
    for path in (*PAGES, *TABLES):
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, target / path)


def test_an_old_page_is_noticed_and_written_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy_pages(tmp_path)
    (tmp_path / "docs" / "api.md").write_text("# All operations\n")
    assert main(["--check"], tmp_path) == 1
    assert "docs/api.md differs; run ./dev reference" in capsys.readouterr().out
    assert (tmp_path / "docs" / "api.md").read_text() == "# All operations\n"
    assert main([], tmp_path) == 0
    assert main(["--check"], tmp_path) == 0


@pytest.mark.parametrize(
    ("path", "generated", "wrong", "by_hand"),
    [
        (Path("docs/settings.md"), "| `DOMOGATE_PORT` |", "| `DOMOGATE_PROT` |", "## Protocol guards"),
        (Path("docs/metrics.md"), "| `domogate_build_info` |", "| `domogate_info` |", "# Metrics"),
        (
            Path("docs/errors.md"),
            "| 2002 | `NoSuchPlant` |",
            "| 2001 | `NoSuchPlant` |",
            "the plant does not exist or was removed",
        ),
    ],
    ids=str,
)
def test_only_the_table_of_a_page_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], path: Path, generated: str, wrong: str, by_hand: str
) -> None:
    copy_pages(tmp_path)
    page = tmp_path / path
    page.write_text(page.read_text().replace(by_hand, f"{by_hand}, changed").replace(generated, wrong))
    assert main(["--check"], tmp_path) == 1
    assert f"{path} differs" in capsys.readouterr().out
    assert main([], tmp_path) == 0
    assert generated in page.read_text()
    assert f"{by_hand}, changed" in page.read_text()


def test_the_texts_of_a_fault_are_kept_and_a_new_fault_needs_them() -> None:
    rows = read_table(
        write_faults("| code | fault | when | ladder | example |\n|---|---|---|---|---|\n| 1 | `NoPlug` | when | 2 | E1 |")
    )
    (known,) = [row for row in rows if row["fault"] == "`NoPlug`"]
    assert known == {"code": "2005", "fault": "`NoPlug`", "when": "when", "ladder": "404", "example": "E1"}
    assert {(row["when"], row["example"]) for row in rows if row is not known} == {(NOT_WRITTEN, NOT_WRITTEN)}
    assert NOT_WRITTEN not in (ROOT / "docs" / "errors.md").read_text()


def test_a_page_without_the_comments_around_a_table_is_refused() -> None:
    with pytest.raises(ValueError, match="metrics"):
        write_parts("# Metrics\n", TABLES[Path("docs/metrics.md")])


def test_every_setting_is_listed_once() -> None:
    page = (ROOT / "docs" / "settings.md").read_text()
    shown = [row["variable"].strip("`") for table in tables(page) for row in table]
    assert sorted(shown) == sorted(f"DOMOGATE_{name.upper()}" for name in DECLARED)


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
