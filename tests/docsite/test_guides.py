"""The guides name only words that are on the pages, and the guide for residents uses the words of residents."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from docsite.building import ROOT
from domogate.cli.commands import cli

GUIDES = ROOT / "docs" / "guides"
TEXTS = [
    ROOT / "src" / "domogate" / "auth" / "pages" / "texts" / "en.toml",
    *(ROOT / "web" / "src").rglob("texts/en.toml"),
]
NOT_OF_THE_PAGES = {"operator", "italics", "It did not answer", "plant", "ambient", "module"}
"""Words in italics that are explained, or that are only the beginning of a text with values."""


def words_of(table: dict[str, Any]) -> Iterator[str]:
    for value in table.values():
        if isinstance(value, dict):
            yield from words_of(value)
        else:
            yield str(value)


def known_words() -> set[str]:
    return {words for path in TEXTS for words in words_of(tomllib.loads(path.read_text()))}


def italics(text: str) -> list[str]:
    """Return the words between single asterisks, without those in code and in bold."""
    prose = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)
    return [" ".join(words.split()) for words in re.findall(r"(?<![\w*])\*(?!\*)([^*]+?)\*(?![\w*])", prose)]


def commands(text: str) -> list[list[str]]:
    """Return the words of each `domogate …` in the prose, without flags and values."""
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    found = [" ".join(code.split()).split(" -")[0].split() for code in re.findall(r"`(domogate [^`]+)`", prose)]
    return [words[1:] for words in found]


def find_command(words: list[str]) -> tuple[click.Command | None, list[str]]:
    """Return the command that the words name, and its arguments. A word in capital letters stands for an argument."""
    command: click.Command | None = cli
    for number, word in enumerate(words):
        if not isinstance(command, click.Group) or word.isupper():
            return command, words[number:]
        command = command.get_command(click.Context(command), word)
    return command, []


def is_command(words: list[str]) -> bool:
    command, arguments = find_command(words)
    return command is not None and not isinstance(command, click.Group) and not arguments


@pytest.mark.parametrize("name", ["residents.md", "operators.md"])
def test_every_word_in_italics_is_on_the_pages(name: str) -> None:
    found = italics((GUIDES / name).read_text())
    assert len(found) > 30
    assert sorted(set(found) - known_words() - NOT_OF_THE_PAGES) == []


def test_an_unknown_word_is_found() -> None:
    assert italics("Choose *Open\nthe gate*, **not** *Save*. `*code*`") == ["Open the gate", "Save"]
    assert "Open the gate" not in known_words()


def test_every_command_in_the_prose_exists() -> None:
    found = commands((GUIDES / "operators.md").read_text())
    assert len(found) > 40
    assert [words for words in found if not is_command(words)] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_of_every_page_begins_with_a_command(page: Path) -> None:
    """Decisions may name commands that are gone."""
    if "decisions" not in page.parts:
        found = commands(page.read_text())
        assert [words for words in found if find_command(words)[0] is None] == []


def test_an_unknown_command_is_found() -> None:
    assert commands("`domogate user\nadd --operator` and `domogate user`") == [["user", "add"], ["user"]]
    assert is_command(["user", "add"])
    assert not is_command(["user"])
    assert not is_command(["user", "paint"])


def test_a_guide_for_operators_explains_each_page_of_the_console() -> None:
    pages = re.findall(r'^  \["(\w+)", "\w+", "\w+"\],$', (ROOT / "web/src/console/page.tsx").read_text(), re.MULTILINE)
    texts = tomllib.loads((ROOT / "web/src/console/texts/en.toml").read_text())["console"]
    headings = re.findall(r"^## (.*)$", (GUIDES / "operators.md").read_text(), re.MULTILINE)
    assert len(pages) > 15
    assert [page for page in pages if not any(one.startswith(texts[page]["title"]) for one in headings)] == []


def test_a_resident_reads_home_and_room_and_device() -> None:
    prose = re.sub(r"\(\S+?\)", "", (GUIDES / "residents.md").read_text())
    assert re.findall(r"(?i)\b(?:plants?|ambients?|modules?|estate)\b", prose) == []
