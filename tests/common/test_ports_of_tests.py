"""The ports that tests choose: two processes never have the same one, also while no server listens on it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.ports import free_port, free_ports

MANY = 300
PROGRAM = f"""
import os, signal
from support.ports import free_port
free_port()
child = os.fork()
os.write(1, (" ".join(str(free_port()) for _ in range({MANY})) + "\\n").encode())
if not child:
    signal.pause()
input()
os.kill(child, signal.SIGKILL)
"""
"""Prints two lines, each in one piece: one of the process, and one of a process that it forked after its first choice."""


def test_a_port_is_not_chosen_again_soon() -> None:
    assert len({free_port() for _ in range(MANY)}) == MANY


def test_several_ports_follow_one_another() -> None:
    first, second, third = free_ports(3)
    assert (second, third) == (first + 1, first + 2)
    assert free_port() not in (first, second, third)


@pytest.mark.slow
def test_processes_at_the_same_time_choose_different_ports() -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    chosen = []
    for process in processes:
        assert process.stdout is not None
        chosen += process.stdout.readline().split() + process.stdout.readline().split()
    for process in processes:
        process.communicate("\n")
    assert len(set(chosen)) == len(chosen) == 4 * MANY
