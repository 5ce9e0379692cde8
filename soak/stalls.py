"""Runs the tests while their processes are paused for short times, as a busy host does with its virtual machines.

A test that fails then depends on a fast machine. Sometimes the gateway is wrong: it counted its own delay as a delay of the
client.
"""

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = (
    *("auth", "backends", "browser", "cli", "clients", "conformance", "contract", "crash", "drivers", "edge", "end_to_end"),
    *("events", "external", "fabric", "identity", "management", "sdk", "services", "stores"),
)
_EVERY = 0.6
"""Average number of seconds between two pauses."""
_SHORTEST, _LONGEST = 0.05, 0.7


def try_while_stalling(time_is_up: Callable[[], bool], chance: random.Random, say: Callable[[str], None]) -> str:
    """Run the folders one after the other in random order, at least one."""
    tried = stalls = 0
    while True:
        for folder in chance.sample(FOLDERS, len(FOLDERS)):
            if tried and time_is_up():
                return f"{tried} folders of tests, {stalls} pauses"
            command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", f"tests/{folder}"]
            tests = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            with _stalling(tests, chance) as count:
                output, _ = tests.communicate()
            assert tests.returncode == 0, f"tests/{folder}:\n{output[-8000:]}"
            tried, stalls = tried + 1, stalls + count()
            say(f"tests/{folder}: {output.splitlines()[-1]}")


@contextmanager
def _stalling(process: "subprocess.Popen[str]", chance: random.Random) -> Iterator[Callable[[], int]]:
    """Yields a function that returns the number of pauses so far."""
    over = threading.Event()
    stops: list[int] = []

    def stall() -> None:
        while not over.wait(chance.expovariate(1 / _EVERY)):
            family = list(_family_of(process.pid))
            # Pause all processes, as a host does, or only one while the others continue.
            stopped = family if chance.random() < 0.5 else [chance.choice(family)]
            _send(stopped, signal.SIGSTOP)
            over.wait(chance.uniform(_SHORTEST, _LONGEST))
            _send(stopped, signal.SIGCONT)
            stops.append(len(stopped))

    thread = threading.Thread(target=stall, name="stalls")
    thread.start()
    try:
        yield lambda: len(stops)
    finally:
        over.set()
        thread.join()


def _send(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _family_of(pid: int) -> Iterator[int]:
    """The process and all its descendants."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit():
                after_name = (entry / "stat").read_text().rpartition(")")[2]
                children.setdefault(int(after_name.split()[1]), []).append(int(entry.name))
    found = [pid]
    for one in found:
        yield one
        found += children.get(one, ())
