"""The commands of the tutorials run in their order and print what the tutorials show."""

from pathlib import Path

import pytest

from docsite.building import ROOT
from support.markdown import headings, links
from support.page_blocks import read_blocks
from support.page_shell import Reader, find_missing

TUTORIALS = ROOT / "docs" / "tutorials"
ITALIAN = TUTORIALS / "it"
PAGES = sorted(path.name for path in TUTORIALS.glob("*.md") if path.name != "index.md")
LONGEST = 150


def download_programs(page: Path, folder: Path) -> None:
    """Copy the programs that the page links, which the reader downloads."""
    for link in links(page.read_text()):
        if link.target.endswith(".py"):
            (folder / link.text).write_text((page.parent / link.target).read_text())


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_every_command_works_and_prints_what_the_page_shows(name: str, tmp_path: Path) -> None:
    download_programs(TUTORIALS / name, tmp_path)
    reader = Reader(tmp_path)
    try:
        reader.follow(read_blocks(TUTORIALS / name))
    finally:
        reader.stop()


class TestPages:
    @pytest.mark.parametrize("name", PAGES)
    def test_each_block_is_a_command_a_file_or_an_output(self, name: str) -> None:
        kinds = [(block.language, bool(block.title)) for block in read_blocks(TUTORIALS / name)]
        assert ("sh", False) in kinds
        assert ("text", False) in kinds
        assert {language for language, titled in kinds if not titled} == {"sh", "text"}
        assert (TUTORIALS / name).read_text().count("```") == 2 * len(kinds)

    @pytest.mark.parametrize(
        "path",
        [*sorted(TUTORIALS.glob("*.md")), *sorted(ITALIAN.glob("*.md"))],
        ids=lambda path: path.parent.name + "/" + path.name,
    )
    def test_each_is_short(self, path: Path) -> None:
        assert len(path.read_text().splitlines()) < LONGEST

    @pytest.mark.parametrize("name", ["index.md", *PAGES])
    def test_the_italian_page_has_the_same_commands_files_and_sections(self, name: str) -> None:
        assert read_blocks(ITALIAN / name) == [
            block._replace(title=block.title.replace("Terminal ", "Terminale ") if block.keeps_running else block.title)
            for block in read_blocks(TUTORIALS / name)
        ]
        levels = [[heading.level for heading in headings((place / name).read_text())] for place in (TUTORIALS, ITALIAN)]
        assert levels[0] == levels[1]


def test_an_output_that_differs_is_noticed() -> None:
    assert find_missing("a …\nb: 1", "x\na  lamp\nb: 1\n") == []
    assert find_missing("b: 1\na …", "a lamp\nb: 1\n") == ["a …"]
    assert find_missing("b: 2", "b: 1") == ["b: 2"]
