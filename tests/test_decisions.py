"""Every open point of the contract has a decision and a test, and the decision records agree with the code."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.markdown import headings, links, section, tables
from support.named_code import ROOT, missing_code

pytestmark = pytest.mark.slow

DECISIONS = ROOT / "docs" / "decisions"
INDEX = DECISIONS / "index.md"
HEADINGS = ["Context", "Decision", "Consequences", "Alternatives", "References"]
COLUMNS = ["spec place", "point", "decision", "record", "test"]

OPEN_POINTS = {
    "scene-fields": "Spec 2.4",
    "sender-values": "Spec 2.10",
    "consumption-timestamp": "Spec 2.13",
    "emergency-status": "Spec 2.15",
    "plant-moves": "Spec 3",
    "light-moves": "Spec 3",
    "thermostat-moves": "Spec 3",
    "battery-moves": "Spec 3",
    "e1-body": "E1",
    "e3-scope": "E3",
    "e4-scope": "E4",
    "e5-body": "E5",
    "e16-errors": "E16",
    "e17-scope": "E17",
    "e18-errors": "E18",
    "e19-errors": "E19",
    "e20-body": "E20",
    "authorization-endpoint": "Spec 5",
    "refresh-response": "Spec 5",
    "authorization-header": "Spec 5",
    "token-lifetimes": "Spec 5",
    "emergency-token": "Spec 5",
    "events": "Spec 6",
    "error-codes": "Spec 7",
    "echo-statuses": "Spec 7",
    "rates-and-quotas": "Spec 8",
    "timeout-duration": "Spec 8",
    "change-history": "Spec 9",
    "removal-dates": "Spec 9",
}
"""The points that the contract calls "not shown", in its order, with the section or operation of each."""

EXTRA_STATUSES = {
    "304": "E3, E6, E7, E9, E10, E14, E17",
    "400-protocol": "all",
    "401-home-control": "E1 to E4",
    "404-wrong-url": "all",
    "405": "all",
    "408-slow-request": "all",
    "413": "E1, E5, E20",
    "429": "all",
    "431": "all",
    "500": "E5 to E8, E10, E11, E16 to E20",
    "501-transfer-coding": "all",
    "503-connections": "all",
    "503-origin": "all",
    "502": "E20",
    "503": "all",
    "504": "E20",
}
"""Statuses that an operation may answer although they are not in its list, with the operations."""


def rows(heading: str) -> list[dict[str, str]]:
    (table,) = tables(section(INDEX.read_text(), heading))
    return table


def by_id(table: list[dict[str, str]]) -> dict[str, dict[str, str]]:
    """Rows by the identifier in backquotes at the beginning of their point."""
    found: dict[str, dict[str, str]] = {}
    for row in table:
        match = re.match(r"`([\w-]+)`", row["point"])
        assert match, f"a point without an identifier: {row['point']}"
        assert match[1] not in found, f"two rows for {match[1]}"
        found[match[1]] = row
    return found


def records() -> dict[str, Path]:
    return {path.name[:4]: path for path in sorted(DECISIONS.glob("[0-9][0-9][0-9][0-9]-*.md"))}


def defined_in(path: Path) -> set[str]:
    """The tests of a file, as pytest names them: Class, Class::test and test."""
    names: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            methods = [
                f"{node.name}::{part.name}"
                for part in node.body
                if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) and part.name.startswith("test")
            ]
            if methods:
                names.update([node.name, *methods])
    return names


def missing_tests(cell: str, root: Path) -> list[str]:
    """Tests that a cell of the column `test` names but that do not exist; an empty cell is an error too."""
    cited = re.findall(r"`([^`]+)`", cell)
    if not cited:
        return ["no test is cited"]
    missing = []
    for citation in cited:
        file, _, name = citation.partition("::")
        path = root / file
        if not (file.startswith("tests/") and re.fullmatch(r"test_\w+\.py", path.name) and path.is_file()):
            missing.append(f"no such test file: {citation}")
        else:
            known = defined_in(path)
            if not known or (name and name not in known):
                missing.append(f"no such test: {citation}")
    return missing


def wrong_record(cell: str, folder: Path) -> list[str]:
    """Errors in a cell of the column `record`: it must be a dash, or links such as [0002](0002-title.md)."""
    if cell == "-":
        return []
    found = links(cell)
    if not found:
        return [f"neither a dash nor a link: {cell!r}"]
    return [
        f"[{link.text}]({link.target})"
        for link in found
        if not re.fullmatch(r"\d{4}", link.text)
        or not link.target.startswith(f"{link.text}-")
        or not (folder / link.target).is_file()
    ]


def citations(text: str) -> Iterator[str]:
    """Every NNNN of "Decision NNNN" and of "Decisions NNNN and NNNN"."""
    for match in re.finditer(r"\bDecisions?\s+(\d{4}(?:(?:,\s*|,?\s+and\s+|,?\s+to\s+)\d{4})*)", text):
        yield from re.findall(r"\d{4}", match[1])


def sources() -> list[Path]:
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "pyproject.toml"]
    for folder, suffixes in (("src", "py yaml json html toml"), ("tests", "py"), ("docs", "md"), ("benchmarks", "py")):
        for suffix in suffixes.split():
            found += (ROOT / folder).rglob(f"*.{suffix}")
    return [path for path in found if path.is_file()]


class TestOpenPoints:
    def test_the_page_says_how_many_there_are(self) -> None:
        assert len(rows("Points that the contract does not show")) == 29
        assert 'says "not shown" twenty-nine times' in section(INDEX.read_text(), "Points that the contract does not show")

    def test_each_has_exactly_one_row_at_its_place_and_in_order(self) -> None:
        table = by_id(rows("Points that the contract does not show"))
        assert {name: row["spec place"] for name, row in table.items()} == OPEN_POINTS
        assert list(table) == list(OPEN_POINTS)

    @pytest.mark.parametrize("point", OPEN_POINTS)
    def test_it_has_a_decision_and_its_record_exists(self, point: str) -> None:
        row = by_id(rows("Points that the contract does not show"))[point]
        assert list(row) == COLUMNS
        assert row["decision"]
        assert wrong_record(row["record"], DECISIONS) == []

    @pytest.mark.parametrize("point", OPEN_POINTS)
    def test_the_test_that_shows_it_exists(self, point: str) -> None:
        assert missing_tests(by_id(rows("Points that the contract does not show"))[point]["test"], ROOT) == []


class TestStatusesOutsideTheLists:
    def test_each_has_exactly_one_row_at_its_place(self) -> None:
        table = by_id(rows("Statuses outside an operation's list"))
        assert {name: row["spec place"] for name, row in table.items()} == EXTRA_STATUSES

    @pytest.mark.parametrize("status", EXTRA_STATUSES)
    def test_it_has_a_decision_and_its_record_exists(self, status: str) -> None:
        row = by_id(rows("Statuses outside an operation's list"))[status]
        assert list(row) == COLUMNS
        assert row["decision"]
        assert wrong_record(row["record"], DECISIONS) == []

    @pytest.mark.parametrize("status", EXTRA_STATUSES)
    def test_the_test_that_shows_it_exists(self, status: str) -> None:
        assert missing_tests(by_id(rows("Statuses outside an operation's list"))[status]["test"], ROOT) == []


class TestRecords:
    def test_their_numbers_run_from_one_without_a_gap_or_a_double(self) -> None:
        numbers = [path.name[:4] for path in sorted(DECISIONS.glob("*.md")) if path != INDEX]
        assert numbers == [f"{number:04}" for number in range(1, len(numbers) + 1)]

    def test_all_are_listed_in_the_index_under_their_own_titles(self) -> None:
        listed = {link.target: link.text for link in links(section(INDEX.read_text(), "All records"))}
        assert listed == {path.name: headings(path.read_text())[0].text for path in records().values()}

    @pytest.mark.parametrize("number", records())
    def test_it_has_its_number_in_the_title_and_the_five_headings_with_something_under_each(self, number: str) -> None:
        text = records()[number].read_text()
        title, *rest = headings(text)
        assert title.level == 1
        assert title.text.startswith(f"{number}. ")
        assert [heading.text for heading in rest if heading.level == 2] == HEADINGS
        assert all(section(text, heading).strip() for heading in HEADINGS)

    @pytest.mark.parametrize("number", records())
    def test_the_paths_and_names_of_code_in_it_exist(self, number: str) -> None:
        assert missing_code(records()[number].read_text()) == []

    def test_what_is_linked_as_a_decision_is_that_decision(self) -> None:
        wrong = [
            (path.name, link)
            for path in (ROOT / "docs").rglob("*.md")
            for link in links(path.read_text())
            if (match := re.fullmatch(r"Decision (\d{4})", link.text)) and not Path(link.target).name.startswith(match[1])
        ]
        assert wrong == []

    @pytest.mark.slow
    def test_every_decision_cited_anywhere_exists(self) -> None:
        known = records()
        here = Path(__file__)
        dangling = {
            f"{path.relative_to(ROOT)}: Decision {number}"
            for path in sources()
            if path != here
            for number in citations(path.read_text(errors="replace"))
            if number not in known
        }
        assert dangling == set()


class TestTheseChecks:
    """The checks above can fail."""

    def test_code_that_does_not_exist_is_noticed(self) -> None:
        assert missing_code("`families/_serve.py`, `docs/errors.md`, `Plant` in `src/domogate/domain/plants.py`, `a/b`") == []
        assert missing_code("`families/gone.py` `gone.py` `Gone` in `src/domogate/domain/plants.py`") == [
            "families/gone.py",
            "gone.py",
            "Gone in src/domogate/domain/plants.py",
        ]

    def test_a_citation_is_found_across_a_line_break_and_in_a_list(self) -> None:
        assert list(citations("see Decision\n0001, Decisions 0002, 0003 and 0004; decision 0005 is prose")) == [
            "0001",
            "0002",
            "0003",
            "0004",
        ]

    @pytest.mark.parametrize("cell", ["", "[0002](0003-b.md)", "[0001](0001-gone.md)", "[one](0001-a.md)", "0001"])
    def test_a_wrong_link_to_a_record_is_noticed(self, tmp_path: Path, cell: str) -> None:
        (tmp_path / "0001-a.md").touch()
        (tmp_path / "0003-b.md").touch()
        assert wrong_record("[0001](0001-a.md), [0003](0003-b.md)", tmp_path) == []
        assert wrong_record(cell, tmp_path) != []

    @pytest.mark.parametrize(
        "cell",
        [
            "",
            "tests/test_a.py",
            "`tests/test_gone.py`",
            "`tests/test_a.py::TestA::test_gone`",
            "`tests/test_a.py::test_one`",
            "`tests/test_a.py::TestEmpty`",
            "`tests/test_none.py`",
            "`tests/a.py`",
            "`tests/test_a.py`, `tests/test_a.py::TestB`",
        ],
    )
    def test_a_test_that_does_not_exist_is_noticed(self, tmp_path: Path, cell: str) -> None:
        folder = tmp_path / "tests"
        folder.mkdir()
        (folder / "test_a.py").write_text(
            "class TestA:\n    async def test_one(self): ...\n\nclass TestEmpty: ...\ndef test_two(): ...\n"
        )
        (folder / "test_none.py").write_text("X = 1\n")
        (folder / "a.py").write_text("def test_one(): ...\n")
        assert (
            missing_tests("`tests/test_a.py`, `tests/test_a.py::TestA::test_one`, `tests/test_a.py::test_two`", tmp_path) == []
        )
        assert missing_tests(cell, tmp_path) != []
