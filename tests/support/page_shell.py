"""Follows a page of the documentation as a reader would: one shell, one folder, the blocks in their order."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from support.page_blocks import Block
from support.ports import free_port

DEADLINE = 300.0
PORTS = ("8080", "1883", "20000")
"""The ports on which programs listen in the pages. A test uses free ports instead."""

_READY = {"domogate demo": "Press Ctrl-C", "domogate serve": "Serving on", "mosquitto": "running", "python3": "Press Ctrl-C"}
"""What a program prints when it is ready, by the begin of its command."""
_END = "--- end of the block ---"


class Reader:
    """Follows a page in a folder, with a shell that keeps its variables."""

    def __init__(
        self, folder: Path, ports: Mapping[str, str] | None = None, variables: Mapping[str, str] | None = None
    ) -> None:
        """`ports` are the ports of programs that run already."""
        self._folder = folder
        self._ports = {port: str(free_port()) for port in PORTS} | dict(ports or {})
        self._programs: list[subprocess.Popen[bytes]] = []
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}:/usr/sbin"
        ours = {"PATH": path, "HOME": str(folder), "DOMOGATE_PORT": self._ports["8080"], "LANG": "C.UTF-8"}
        self._environment = ours | dict(variables or {})
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

    def run(self, script: str) -> str:
        """Run the commands, which have no input. Returns their output."""
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._shell.stdin.write(f"set -e\n{{\n{self.change_ports(script)}\n}} </dev/null\necho; echo '{_END}'\n")
        self._shell.stdin.flush()
        lines: list[str] = []
        for line in self._shell.stdout:
            if line.strip() == _END:
                return "".join(lines)
            lines.append(line)
        raise AssertionError(f"this block failed:\n{script}\nIt printed:\n{''.join(lines)}")

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

    def follow(self, blocks: list[Block]) -> None:
        """Run the commands, start the programs, write the files, and compare the output with what the page shows."""
        printed = ""
        for block in blocks:
            if block.keeps_running:
                self.start(block)
            elif block.title:
                (self._folder / block.title).write_text(self.change_ports(block.text))
            elif block.is_shell:
                printed = self.run(block.script)
                assert find_missing(self.change_ports(block.shown), printed) == [], printed
            elif block.language == "text":
                assert find_missing(self.change_ports(block.text), printed) == [], printed

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
