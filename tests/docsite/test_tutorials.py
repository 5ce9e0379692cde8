"""The commands of the tutorials run in their order and print what the tutorials show."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from docsite.building import ROOT
from support.markdown import headings, links
from support.ports import free_port

TUTORIALS = ROOT / "docs" / "tutorials"
ITALIAN = TUTORIALS / "it"
PAGES = sorted(path.name for path in TUTORIALS.glob("*.md") if path.name != "index.md")
LONGEST = 150
DEADLINE = 300.0

_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
_PORTS = ("8080", "1883", "20000")
"""The ports on which programs listen in the tutorials. A test uses free ports instead."""
_READY = {"domogate demo": "Press Ctrl-C", "domogate serve": "Serving on", "mosquitto": "running", "python3": "Press Ctrl-C"}
"""What a program prints when it is ready, by the begin of its command."""
_END = "--- end of the block ---"


class Block(NamedTuple):
    """A fenced block. A command whose title is a terminal keeps running; any other title is the name of a file."""

    language: str
    title: str
    text: str

    @property
    def keeps_running(self) -> bool:
        return self.title.startswith("Terminal")


def read_blocks(path: Path) -> list[Block]:
    return [Block(*groups) for groups in _BLOCK.findall(path.read_text())]


class Reader:
    """Follows a tutorial in an empty folder, with a shell that keeps its variables."""

    def __init__(self, page: Path, folder: Path) -> None:
        self._folder = folder
        self._ports = {port: str(free_port()) for port in _PORTS}
        self._programs: list[subprocess.Popen[bytes]] = []
        for link in links(page.read_text()):
            if link.target.endswith(".py"):  # the reader downloads it
                (folder / link.text).write_text((page.parent / link.target).read_text())
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}:/usr/sbin"
        self._environment = {"PATH": path, "HOME": str(folder), "DOMOGATE_PORT": self._ports["8080"], "LANG": "C.UTF-8"}
        self._shell = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def change_ports(self, text: str) -> str:
        for written, free in self._ports.items():
            text = re.sub(rf"\b{written}\b", free, text)
        return text

    def run(self, block: Block) -> str:
        """Run the commands. Returns their output."""
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._shell.stdin.write(f"set -e\n{self.change_ports(block.text)}\necho; echo '{_END}'\n")
        self._shell.stdin.flush()
        lines: list[str] = []
        for line in self._shell.stdout:
            if line.strip() == _END:
                return "".join(lines)
            lines.append(line)
        raise AssertionError(f"this block failed:\n{block.text}\nIt printed:\n{''.join(lines)}")

    def start(self, block: Block) -> None:
        """Start a program that keeps running, and wait until it says that it is ready."""
        log = self._folder / f"{block.title}.log"
        command = ["bash", "-c", f"exec {self.change_ports(block.text).strip()}"]
        with log.open("wb") as output:
            program = subprocess.Popen(command, cwd=self._folder, env=self._environment, stdout=output, stderr=output)
        self._programs.append(program)
        (ready,) = (words for begin, words in _READY.items() if block.text.startswith(begin))
        deadline = time.monotonic() + DEADLINE
        while ready not in log.read_text():
            assert program.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)

    def stop(self) -> None:
        self._shell.kill()
        self._shell.communicate()
        for program in reversed(self._programs):
            program.terminate()
            program.wait(DEADLINE)


def find_missing(shown: str, printed: str) -> list[str]:
    """Return the shown lines that were not printed in this order. `…` stands for any text."""
    place = 0
    missing: list[str] = []
    for line in shown.strip().splitlines():
        pattern = ".*?".join(re.escape(part) for part in re.split(r"\s*…\s*", line.strip("… ")))
        found = re.compile(re.sub(r"(\\ )+", r"\\s+", pattern)).search(printed, place)
        if found is None:
            missing.append(line)
        else:
            place = found.end()
    return missing


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_every_command_works_and_prints_what_the_page_shows(name: str, tmp_path: Path) -> None:
    blocks = read_blocks(TUTORIALS / name)
    reader = Reader(TUTORIALS / name, tmp_path)
    printed = ""
    try:
        for block in blocks:
            if block.keeps_running:
                reader.start(block)
            elif block.title:
                (tmp_path / block.title).write_text(reader.change_ports(block.text))
            elif block.language == "sh":
                printed = reader.run(block)
            else:
                assert find_missing(reader.change_ports(block.text), printed) == [], printed
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
