"""Runs `domogate` on a pseudo-terminal, as a person does who types at a prompt."""

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Self

PATIENCE = 60.0
END_OF_INPUT = "\x04"


class Terminal:
    """A command whose standard streams are one terminal."""

    def __init__(self, *arguments: str) -> None:
        self._own, theirs = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "domogate.cli", *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=_environment()
        )
        os.close(theirs)
        self.text = ""
        self._seen = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait(PATIENCE)
        os.close(self._own)

    def answer(self, question: str, answer: str, end: str = "\n") -> None:
        """Wait for the question after what was already answered, then type the answer."""
        self.wait_for(question)
        self._seen = len(self.text)
        os.write(self._own, f"{answer}{end}".encode())

    def wait_for(self, words: str) -> None:
        until = time.monotonic() + PATIENCE
        while words not in self.text[self._seen :]:
            assert self._read(until), f"{words!r} was not printed:\n{self.text}"

    def interrupt(self) -> None:
        """Do what Ctrl-C does."""
        self._process.send_signal(signal.SIGINT)

    def wait(self) -> int:
        """The exit code, after all output is read."""
        until = time.monotonic() + PATIENCE
        while self._read(until):
            pass
        return self._process.wait(PATIENCE)

    def _read(self, until: float) -> bool:
        ready, _, _ = select.select([self._own], [], [], max(0.0, until - time.monotonic()))
        assert ready, f"the command prints nothing more:\n{self.text}"
        try:
            read = os.read(self._own, 65_536)
        except OSError:  # Linux: the command has ended.
            return False
        self.text += read.decode(errors="replace")
        return bool(read)


def _environment() -> Mapping[str, str]:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("DOMOGATE_")}
    return {**kept, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "200"}
