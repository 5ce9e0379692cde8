"""A service manager for tests: it opens ports, starts `domogate serve` with them, and receives its messages."""

import fcntl
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from support.http import PATIENCE

_FREE = 20
"""Descriptors from this number on do not overlap with those of the ports in the new process."""
_STARTER = """
import os, sys
passed = [int(one) for one in sys.argv[1].split(",")]
for number, descriptor in enumerate(passed, start=3):
    os.dup2(descriptor, number)
os.environ.update(LISTEN_PID=sys.argv[2] or str(os.getpid()), LISTEN_FDS=str(len(passed)))
os.execv(sys.executable, [sys.executable, "-m", "domogate.cli", *sys.argv[3:]])
"""


def listen(host: str = "127.0.0.1") -> socket.socket:
    listener = socket.create_server((host, 0))
    listener.settimeout(PATIENCE)
    return listener


def start_serve(
    listeners: Sequence[socket.socket], folder: Path, *flags: str, environment: Mapping[str, str] | None = None, pid: str = ""
) -> "subprocess.Popen[str]":
    """Start `domogate serve` with these ports, as systemd does. `pid` names another process than the started one."""
    passed = [fcntl.fcntl(one, fcntl.F_DUPFD, _FREE) for one in listeners]
    arguments = [",".join(map(str, passed)), pid, "serve", "--data", str(folder / "data"), *flags]
    try:
        return subprocess.Popen(
            [sys.executable, "-c", _STARTER, *arguments],
            pass_fds=passed,
            env={"PATH": "/usr/bin:/bin", **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    finally:
        for descriptor in passed:
            os.close(descriptor)
