"""The structure of the code: docs/architecture.md lists every import between folders, and files stay short."""

import re
from collections import defaultdict
from pathlib import Path

import grimp

from support.markdown import section, tables

_ROOT = Path(__file__).parent.parent
_PAGE = _ROOT / "docs" / "architecture.md"
_MOST_LINES = 350


def _documented() -> dict[str, set[str]]:
    (table,) = tables(section(_PAGE.read_text(), "Who imports whom"))
    return {_names(row["folder"])[0]: set(_names(row["imports"])) for row in table}


def _names(cell: str) -> list[str]:
    return re.findall(r"`([a-z_]+)/`", cell)


def _in_the_code() -> dict[str, set[str]]:
    graph = grimp.build_graph("domogate")
    arrows: dict[str, set[str]] = defaultdict(set)
    for module in graph.modules - {"domogate"}:
        folder = module.split(".")[1]
        arrows[folder].update(
            imported.split(".")[1] for imported in graph.find_modules_directly_imported_by(module) if "." in imported
        )
    return {folder: imported - {folder} for folder, imported in arrows.items()}


class TestWhoImportsWhom:
    def test_every_folder_imports_exactly_what_the_page_allows(self) -> None:
        documented, real = _documented(), _in_the_code()
        assert documented.keys() == real.keys()
        for folder, imported in real.items():
            assert imported == documented[folder], f"{folder}/ imports other folders than docs/architecture.md says"


class TestLength:
    def test_no_file_is_too_long(self) -> None:
        folders = ("src", "clients", "tests", "soak", "benchmarks", "integrations", "release", "web/src", "web/test")
        lengths = {
            file.relative_to(_ROOT).as_posix(): len(file.read_text().splitlines())
            for folder in folders
            for ending in ("py", "ts", "tsx", "mjs")
            for file in (_ROOT / folder).rglob(f"*.{ending}")
        }
        assert len(lengths) > 500, "the files are found"
        assert {name: lines for name, lines in lengths.items() if lines > _MOST_LINES} == {}
