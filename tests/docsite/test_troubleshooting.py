"""The messages that docs/troubleshooting.md quotes are messages of the gateway."""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from docsite.building import ROOT
from support.page_blocks import read_blocks

PAGE = ROOT / "docs" / "troubleshooting.md"
SOURCE = ROOT / "src" / "domogate"
VALUE = "…"
"""Stands for a value in a message, on the page and below."""


def text_of(node: ast.AST) -> str:
    """Return the text of a string, or "" for another node. A value in the string is `…`."""
    match node:
        case ast.Constant(value=str(text)):
            return re.sub(r"\{\w+\}", VALUE, text)
        case ast.JoinedStr(values=parts):
            return "".join(text_of(part) if isinstance(part, ast.Constant) else VALUE for part in parts)
        case _:
            return ""


def strings_of(code: str) -> list[str]:
    """Return the strings of a module, without docstrings and comments."""
    found: list[str] = []
    waiting: list[ast.AST] = [ast.parse(code)]
    while waiting:
        node = waiting.pop()
        if text := text_of(node):
            found.append(text)
        parts = node.values if isinstance(node, ast.JoinedStr) else ast.iter_child_nodes(node)
        of_string = isinstance(node, ast.JoinedStr | ast.Expr)
        waiting += [part for part in parts if not (of_string and isinstance(part, ast.Constant | ast.JoinedStr))]
    return found


def texts_in(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for one in value.values() for text in texts_in(one)]
    return [re.sub(r"\{\w+\}", VALUE, str(value))]


@cache
def all_messages() -> tuple[str, ...]:
    code = [text for path in sorted(SOURCE.rglob("*.py")) for text in strings_of(path.read_text())]
    pages = [SOURCE / "auth" / "pages" / "texts" / "en.toml", *(ROOT / "web" / "src").rglob("texts/en.toml")]
    return tuple(" ".join(text.split()) for text in [*code, *(one for path in pages for one in texts_in(_read(path)))])


def _read(path: Path) -> object:
    return tomllib.loads(path.read_text())


def is_message(quoted: str) -> bool:
    return any(quoted in message for message in all_messages())


def quoted_messages() -> list[str]:
    return [
        " ".join(line.split())
        for block in read_blocks(PAGE)
        if block.language == "text"
        for line in block.text.splitlines()
        if line.strip()
    ]


@pytest.mark.parametrize("quoted", quoted_messages())
def test_every_quoted_message_is_in_the_code(quoted: str) -> None:
    assert is_message(quoted)


def test_a_changed_message_is_found() -> None:
    code = 'def run(port):\n    """The port is taken."""\n    raise ValueError(f"port {port} " "is taken, {advice}")\n'
    assert strings_of(code) == ["port … is taken, …"]
    assert not is_message("The port of the gateway is taken by a cat")


def test_the_page_has_at_least_twenty_symptoms_each_with_a_cause_and_an_advice() -> None:
    sections = re.split(r"^### ", PAGE.read_text(), flags=re.MULTILINE)[1:]
    assert len(sections) >= 20
    assert len(quoted_messages()) >= 20
    wanted = ("**Cause.**", "**What to do.**")
    assert [one.splitlines()[0] for one in sections if not all(words in " ".join(one.split()) for words in wanted)] == []
