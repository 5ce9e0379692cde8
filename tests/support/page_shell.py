"""Follows a page of the documentation as a reader would: one shell, one folder, the blocks in their order."""

import os
import pty
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from support.forked_domogate import install_domogate
from support.page_blocks import Block
from support.ports import free_port
from support.processes import use_fork_server

DEADLINE = 300.0
DOMOGATE = Path(".programs", "domogate")
"""The program `domogate` of a reader, in the folder of the reader."""
PORTS = ("8080", "1883", "20000")
"""The ports on which programs listen in the pages. A test uses free ports instead."""

_READY = {
    "domogate demo": ("Press Ctrl-C",),
    "./dev run": ("Press Ctrl-C",),
    "domogate serve": ("Serving on", "Listening on"),
    "mosquitto": ("running",),
    "python3": ("Press Ctrl-C",),
}
"""The texts of which one is printed when a program is ready. The keys are the first words of its command."""
_END = "--- end of the block ---"
_AT_THE_END = "trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT"


class Reader:
    """Follows a page in a folder, with a shell that keeps its variables."""

    def __init__(
        self,
        folder: Path,
        names: Mapping[str, str] | None = None,
        variables: Mapping[str, str] | None = None,
        look: Callable[[str], Mapping[str, str]] = lambda printed: {},
    ) -> None:
        """Start the shell.

        `names` are words of the page, such as ports, with what the test uses instead.

        `look` gets the output of each block, and does what a person does who sees it. It returns what this person then knows:
        the values of assignments such as `CODE=…`.
        """
        self._folder = folder
        self._names = {port: str(free_port()) for port in PORTS} | dict(names or {})
        self._look = look
        self._programs: list[subprocess.Popen[bytes]] = []
        self._control = use_fork_server().connect(os.environ).fileno()
        install_domogate(folder / DOMOGATE.parent, self._control)
        path = f"{folder / DOMOGATE.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}:/usr/sbin"
        settings = {"DOMOGATE_PORT": self._names["8080"]} if variables is None else variables
        self._environment = {"PATH": path, "HOME": str(folder), "LANG": "C.UTF-8", **settings}
        self._shell = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            pass_fds=(self._control,),
        )

    def change_names(self, text: str) -> str:
        for written, ours in self._names.items():
            # A URL with a port is another name.
            end = r"(?!\w|:\d)" if "://" in written else r"(?!\w)"
            text = re.sub(rf"(?<!\w){re.escape(written)}{end}", ours, text)
        return text

    def run(self, script: str, answers: Sequence[str] = ()) -> str:
        """Run the commands, with a terminal as input if there are answers to type. Returns their output."""
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        own, theirs = pty.openpty()
        os.write(own, "".join(f"{answer}\n" for answer in answers).encode())
        place = os.ttyname(theirs) if answers else os.devnull
        self._shell.stdin.write(f"set -e\n{_AT_THE_END}\n{{\n{self.change_names(script)}\n}} <{place}\necho; echo '{_END}'\n")
        self._shell.stdin.flush()
        lines: list[str] = []
        try:
            for line in self._shell.stdout:
                if line.strip() == _END:
                    return "".join(lines)
                lines.append(line)
        finally:
            os.close(own)
            os.close(theirs)
        raise AssertionError(f"this block failed:\n{script}\nIt printed:\n{''.join(lines)}")

    def start(self, block: Block) -> None:
        """Start a program that keeps running, and wait until it says that it is ready."""
        log = self._folder / f"{block.title}.log"
        command = ["bash", "-c", f"exec {self.change_names(block.text).strip()}"]
        with log.open("wb") as output:
            program = subprocess.Popen(
                command,
                cwd=self._folder,
                env=self._environment,
                stdout=output,
                stderr=output,
                pass_fds=(self._control,),
            )
        self._programs.append(program)
        (ready,) = (words for begin, words in _READY.items() if block.text.startswith(begin))
        deadline = time.monotonic() + DEADLINE
        while not any(words in log.read_text() for words in ready):
            assert program.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)

    def follow(self, blocks: list[Block]) -> None:
        """Run the commands, start the programs, write the files, and compare the output with what the page shows."""
        printed = ""
        known = dict(self._look(printed))
        for block in blocks:
            if block.keeps_running:
                self.start(block)
            elif block.title:
                (self._folder / self.change_names(block.title)).write_text(self.change_names(block.text))
            elif block.is_shell:
                printed = self.run(_fill_in(block, known), block.answers)
                known |= self._look(printed)
                assert find_missing(self.change_names(block.shown), printed) == [], printed
            elif block.language == "text":
                assert find_missing(self.change_names(block.text), printed) == [], printed

    def stop(self) -> None:
        """End the shell, which stops its jobs. Then stop the other programs."""
        self._shell.communicate(timeout=DEADLINE)
        for program in reversed(self._programs):
            program.terminate()
            program.wait(DEADLINE)


def _fill_in(block: Block, known: Mapping[str, str]) -> str:
    """Return the commands with the values that the person knows."""
    script = re.sub(r"^(\w+)=…", lambda found: f"{found[1]}={known[found[1]]}", block.script, flags=re.MULTILINE)
    return f"(\n{script}\n)" if block.is_apart else script


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
