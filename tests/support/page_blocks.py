"""Reads the fenced blocks of a page, the marks before them, and the commands in them."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SHELLS = ("sh", "bash", "console", "shell")

_BLOCK = re.compile(
    r'^(?:<!-- ([^\n]*?) -->\n+)?(?P<indent> *)```(\w+)(?: title="([^"]+)")?\n(.*?)^(?P=indent)```$', re.MULTILINE | re.DOTALL
)
_PROMPT = "$ "
_APART = "run apart"
_ANSWERS = "answers: "
_ENDS = frozenset("();<>|&\n")


class Block(NamedTuple):
    """A fenced block. A command whose title is a terminal keeps running; any other title is the name of a file.

    The mark is the text of the HTML comment before the block.
    """

    language: str
    title: str
    text: str
    mark: str = ""

    @property
    def keeps_running(self) -> bool:
        return self.title.startswith("Terminal")

    @property
    def is_shell(self) -> bool:
        return self.language in SHELLS

    @property
    def is_apart(self) -> bool:
        """Whether the next blocks do not see the variables of this block."""
        return self.mark == _APART

    @property
    def answers(self) -> list[str]:
        """The answers that a reader types when the commands ask."""
        return self.mark.removeprefix(_ANSWERS).split(" | ") if self.mark.startswith(_ANSWERS) else []

    @property
    def script(self) -> str:
        """The lines that a reader types."""
        if self.language != "console":
            return self.text
        return "".join(line.removeprefix(_PROMPT) for line in self.text.splitlines(keepends=True) if line.startswith(_PROMPT))

    @property
    def shown(self) -> str:
        """The output in a block that also shows the commands."""
        if self.language != "console":
            return ""
        return "".join(line for line in self.text.splitlines(keepends=True) if not line.startswith(_PROMPT))


def read_blocks(path: Path) -> list[Block]:
    return [
        Block(language, title or "", re.sub(rf"^{indent}", "", text, flags=re.MULTILINE), mark or "")
        for mark, indent, language, title, text in (match.groups() for match in _BLOCK.finditer(path.read_text()))
    ]


def read_commands(script: str) -> Iterator[list[str]]:
    """Yield the words of each command, also of a command in `$(…)`. Assignments before a command are left out."""
    line = ""
    for part in script.replace("\\\n", " ").splitlines(keepends=True):
        line += part
        try:
            words = _split(line)
        except ValueError:  # a quoted text goes on in the next line
            continue
        line = ""
        yield from _commands(words)
    if line:
        raise ValueError(f"a quotation mark is missing: {line}")


def _split(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split = True
    return list(lexer)


def _commands(words: list[str]) -> Iterator[list[str]]:
    command: list[str] = []
    for word in [*words, ";"]:
        if word and set(word) <= _ENDS:
            if command:
                yield command
            # the word after > is a file
            command = [""] if set(word) <= {"<", ">"} else []
        elif command or not re.fullmatch(r"\w+=.*", word, re.DOTALL):
            command.append(word)
