"""The documents agree with the code and with each other."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from docsite.deploy_files import make_pages
from docsite.outside import COPIED
from domogate.domain import faults
from domogate.domain.people import TokenKind
from domogate.families import FAMILIES
from domogate.families._errors import challenge
from domogate.families._family import Family, Operation
from domogate.families._ladder import LADDER, OUTSIDE
from support.markdown import anchors, headings, links, section, tables
from support.named_code import ROOT, SOURCE, missing_code

pytestmark = pytest.mark.slow

DOCS = ROOT / "docs"
ENTRANCES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", DOCS / "README.md", DOCS / "index.md"]


def documents() -> list[Path]:
    return [*sorted(DOCS.rglob("*.md")), *sorted(ROOT.glob("*.md"))]


def relative_links(path: Path) -> Iterator[tuple[str, Path, str]]:
    for link in links(path.read_text()):
        if not re.match(r"[a-z][a-z0-9+.-]*:", link.target):
            file, _, fragment = link.target.partition("#")
            yield link.target, (path.parent / unquote(file)).resolve() if file else path, fragment


def broken_links(path: Path) -> list[str]:
    broken = []
    for written, target, fragment in relative_links(path):
        if not target.exists() or not target.is_relative_to(ROOT if path.is_relative_to(ROOT) else path.parent):
            broken.append(f"{written}: no such file")
        elif target.suffix == ".png" and fragment in ("gh-light-mode-only", "gh-dark-mode-only"):
            continue  # shown only in this colour scheme
        elif fragment and (target.suffix != ".md" or fragment not in anchors(target.read_text())):
            broken.append(f"{written}: no such heading")
    return broken


def words(cell: str) -> set[str]:
    """The parts of a cell in backquotes."""
    return set(re.findall(r"`([^`]+)`", cell))


def numbers(cell: str) -> list[int]:
    return [int(number) for number in re.findall(r"\b\d{3}\b", cell)]


def every_fault(kind: type[faults.Fault] = faults.Fault) -> Iterator[type[faults.Fault]]:
    for child in kind.__subclasses__():
        if child.__module__ == faults.__name__:
            yield child
        yield from every_fault(child)


def every_operation() -> list[tuple[Family, Operation]]:
    return [(family, operation) for family in FAMILIES for operation in family.operations]


class TestLinks:
    @pytest.mark.parametrize("path", documents(), ids=lambda path: str(path.relative_to(ROOT)))
    def test_every_relative_link_leads_somewhere(self, path: Path) -> None:
        assert broken_links(path) == []

    def test_every_document_can_be_reached_from_an_entrance(self) -> None:
        reached: set[Path] = set()
        waiting = [path for path in ENTRANCES if path.is_file()]
        while waiting:
            path = waiting.pop()
            if path not in reached:
                reached.add(path)
                if path.suffix == ".md":
                    waiting += [target for _, target, _ in relative_links(path) if target.is_file()]
        lost = {str(path.relative_to(ROOT)) for path in DOCS.rglob("*") if path.is_file() and path not in reached}
        assert lost == set()

    def test_a_broken_link_is_noticed(self, tmp_path: Path) -> None:
        (tmp_path / "other.md").write_text("# One heading: `x`, two\n\n# Same\n\n# Same\n")
        page = tmp_path / "page.md"
        page.write_text("[a](other.md#one-heading-x-two) [b](other.md#same-1) [c](https://example.com/x) [d](#own)\n\n# Own\n")
        assert broken_links(page) == []
        page.write_text("[a](gone.md) [b](other.md#gone) [c](../../outside.md) [d](#own)\n\n```\n[e](fenced.md)\n```\n")
        assert len(broken_links(page)) == 4


class TestNavigation:
    def test_every_page_is_in_the_navigation_of_the_site(self) -> None:
        navigation = (ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2]
        listed = re.findall(r"- (?:[^:\n]+: )?([\w/-]+\.md)$", navigation, re.MULTILINE)
        assert len(listed) == len(set(listed))
        pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
        decisions = {page for page in pages if re.match(r"decisions/\d", page)}  # reached from their index
        assert pages - decisions == set(listed) - set(COPIED.values()) - set(make_pages())
        assert set(make_pages()) <= set(listed)


class TestArchitecturePage:
    PAGE = (DOCS / "architecture.md").read_text()

    def test_every_file_that_it_names_exists(self) -> None:
        assert missing_code(self.PAGE) == []

    def test_it_describes_every_folder(self) -> None:
        folders = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").is_file()}
        services = {f"services/{path.name}" for path in (SOURCE / "services").iterdir() if (path / "__init__.py").is_file()}
        described = [
            word for table in tables(section(self.PAGE, "Folders")) for row in table for word in words(next(iter(row.values())))
        ]
        assert sorted(described) == sorted(f"{name}/" for name in folders | services)

    def test_it_names_a_file_for_every_section_and_operation_of_the_specification(self) -> None:
        (table,) = tables(section(self.PAGE, "Specification -> file"))
        covered = " ".join(row["specification"] for row in table)
        sections = [str(number) for number in range(1, 10)] + [f"2.{number}" for number in range(1, 17)]
        operations = [operation.id for _, operation in every_operation()]
        assert [
            part for part in sections + operations if not re.search(rf"(?<![\w.]){re.escape(part)}(?![\w.]\w)", covered)
        ] == []
        assert all(words(row["file"]) or "family" in row["file"] for row in table)


class TestErrorsPage:
    PAGE = (DOCS / "errors.md").read_text()

    def rows(self) -> list[dict[str, str]]:
        (table,) = tables(section(self.PAGE, "Faults and their statuses"))
        return table

    def test_it_has_every_fault_with_its_code_in_order(self) -> None:
        shown = [(int(row["code"]), row["fault"].strip("`")) for row in self.rows()]
        assert shown == sorted((kind.code, kind.__name__) for kind in every_fault())

    def test_codes_are_not_shared(self) -> None:
        codes = [kind.code for kind in every_fault()]
        assert len(set(codes)) == len(codes)

    def test_it_shows_the_ladders_as_they_are(self) -> None:
        shown = {row["fault"].strip("`"): tuple(numbers(row["ladder"])) for row in self.rows()}
        assert shown == {kind.__name__: ladder for kind, ladder in LADDER.items()}

    def test_it_shows_every_value_of_www_authenticate(self) -> None:
        (table,) = tables(section(self.PAGE, "WWW-Authenticate"))
        shown = {value for row in table for value in words(row["value"])}
        assert shown == {
            challenge(faults.KeyRefused()).decode(),
            challenge(faults.TokenRefused("", given=False)).decode(),
            challenge(faults.TokenRefused("")).decode(),
            challenge(faults.ScopeMissing("", ("…",))).decode("utf-8"),
        }

    def test_statuses_outside_the_lists_are_those_that_the_index_of_decisions_has(self) -> None:
        (table,) = tables(section((DOCS / "decisions" / "index.md").read_text(), "Statuses outside an operation's list"))
        shown = {int(match[1]) for row in table if (match := re.match(r"`(\d{3})\b", row["point"]))}
        assert shown == OUTSIDE | {400, 408, 431, 501, 503}  # from the protocol guards and the health check alone

    def test_the_decision_names_the_same_statuses_outside_the_lists(self) -> None:
        record = " ".join((DOCS / "decisions" / "0002-faults-and-statuses.md").read_text().split())
        _, _, rest = record.partition("These statuses are the same for all operations:")
        named = re.sub(r"\(.*?\)", "", rest.partition(".")[0])
        assert set(numbers(named)) == OUTSIDE


class TestSecurityPage:
    PAGE = (DOCS / "security.md").read_text()
    SECTIONS = {"V6": 8, "V7": 6, "V8": 4, "V9": 2, "V10": 7}

    def rows(self, heading: str) -> list[dict[str, str]]:
        (table,) = tables(section(self.PAGE, heading))
        return table

    def test_every_test_that_it_names_exists(self) -> None:
        named = set(re.findall(r"\btests/[\w./-]*\w", self.PAGE))
        assert named
        assert {path for path in named if not (ROOT / path).is_file()} == set()

    def test_every_file_of_the_code_that_it_names_exists(self) -> None:
        assert missing_code(self.PAGE) == []

    def test_it_has_every_risk_of_the_api_top_10_in_order(self) -> None:
        shown = [row["risk"].split(" ")[0] for row in self.rows("OWASP API Security Top 10 2023")]
        assert shown == [f"API{number}" for number in range(1, 11)]

    @pytest.mark.parametrize("chapter", SECTIONS)
    def test_it_has_every_section_of_the_asvs_chapters_in_order(self, chapter: str) -> None:
        (heading,) = [heading.text for heading in headings(self.PAGE) if heading.text.startswith(f"{chapter} ")]
        shown = [row["section"].split(" ")[0] for row in self.rows(heading)]
        assert shown == [f"{chapter}.{number}" for number in range(1, self.SECTIONS[chapter] + 1)]

    def test_every_row_names_a_test_or_says_why_there_is_none(self) -> None:
        rows = [row for table in tables(self.PAGE) for row in table if "test" in row]
        without = [row for row in rows if "tests/" not in row["test"]]
        assert {row["test"] for row in without if not row["test"].startswith("[")} <= {"does not apply", "none"}
        assert all("**Gap:**" in " ".join(row.values()) for row in without if row["test"] == "none")


class TestExamples:
    def calls(self) -> list[str]:
        """The curl commands of all documents, each as one line."""
        return [
            line
            for path in documents()
            for line in path.read_text().replace("\\\n", " ").splitlines()
            if line.lstrip().startswith("curl ")
        ]

    def test_there_are_some_for_every_family(self) -> None:
        assert {family.slug for family in FAMILIES if not any(family.prefix in call for call in self.calls())} == set()

    def test_a_body_is_sent_as_json(self) -> None:
        """By default curl sends the type of a form, which is refused."""
        bodies = [call for call in self.calls() if " -d " in call or " --data" in call]
        assert bodies
        assert [call for call in bodies if "Content-Type: application/json" not in call] == []

    def test_every_call_has_a_key_and_a_token(self) -> None:
        wanting = [call for call in self.calls() if any(family.prefix in call for family in FAMILIES)]
        in_a_file = re.compile(r"-H @\S+/as/\w+\.(id|access)")
        in_the_line = re.compile(r"(?=.*Ocp-Apim-Subscription-Key: )(?=.*Authorization: )", re.DOTALL)
        assert [call for call in wanting if not in_a_file.search(call) and not in_the_line.search(call)] == []


class TestChangeHistory:
    KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}

    def test_what_is_not_released_stands_on_top_and_every_release_has_its_date(self) -> None:
        releases = [heading.text for heading in headings((ROOT / "CHANGELOG.md").read_text()) if heading.level == 2]
        assert releases[0] == "[Unreleased]"
        assert [text for text in releases[1:] if not re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", text)] == []

    def test_changes_are_told_by_kind(self) -> None:
        kinds = {heading.text for heading in headings((ROOT / "CHANGELOG.md").read_text()) if heading.level == 3}
        assert kinds
        assert kinds <= self.KINDS

    def test_it_tells_what_is_deprecated(self) -> None:
        deprecated = section((ROOT / "CHANGELOG.md").read_text(), "Deprecated").lower()
        names = {family.name for family in FAMILIES if family.lifecycle.deprecated_since}
        assert {name for name in names if name not in deprecated} == set()


class TestFamiliesPage:
    PAGE = (DOCS / "families.md").read_text()
    KINDS = {
        "an access token": {TokenKind.ACCESS},
        "an id token": {TokenKind.ID},
        "an access token or an id token": {TokenKind.ACCESS, TokenKind.ID},
    }

    def test_it_has_every_family_with_its_prefix_token_ids_and_lifecycle(self) -> None:
        (table,) = tables(section(self.PAGE, "The nine families"))
        shown = [
            (words(row["prefix"]), self.KINDS[row["token"]], row["ids"], row["errors"], row["lifecycle"].split(";")[0])
            for row in table
        ]
        assert shown == [
            (
                {family.prefix},
                set(family.tokens),
                {"_print_hex32": "32 hexadecimal characters", "_print_dashed": "UUID"}[family.ids.print_id.__name__],
                {"shape_a": "shape A", "shape_b": "shape B"}[family.error_shape.__name__],
                family.lifecycle.word,
            )
            for family in FAMILIES
        ]

    def operations(self) -> dict[str, dict[str, str]]:
        return {row["operation"].split(" ")[0]: row for table in tables(self.PAGE) for row in table if "operation" in row}

    def test_it_has_every_operation_once(self) -> None:
        shown = [row["operation"].split(" ")[0] for table in tables(self.PAGE) for row in table if "operation" in row]
        assert sorted(shown) == sorted(operation.id for _, operation in every_operation())

    @pytest.mark.parametrize(("family", "operation"), every_operation(), ids=lambda value: getattr(value, "id", ""))
    def test_it_shows_the_operation_as_it_is_declared(self, family: Family, operation: Operation) -> None:
        row = self.operations()[operation.id]
        assert words(row["request"]) == {f"{operation.method} {family.prefix}/{operation.contract_path}"}
        assert words(row["scope"]) == {str(scope) for scope in operation.scopes}
        answers = {operation.status, 204} if operation.may_be_empty else {operation.status}
        assert numbers(row["statuses"]) == sorted(answers | operation.errors)
        assert ("deprecated" in row["operation"]) == (operation.lifecycle is not None)
