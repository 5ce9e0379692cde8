"""`domogate` for a shell: asks the fork server for a process, and behaves as this process does.

`install_domogate` writes a program that runs this file with the number of the socket to the fork server. The process gets the
arguments, the environment, the folder and the streams of the program. The program passes signals on to the process, and has its
exit status.
"""

import json
import os
import signal
import socket
import stat
import struct
import sys
from pathlib import Path

_STATUS = struct.Struct("i")  # as in fork_server, which this program does not import: it must start quickly
_ENDED_BY_SIGNAL = 128


def install_domogate(folder: Path, control: int) -> None:
    """Write the program `domogate` into a new folder. The shell must inherit `control`, the socket to the fork server."""
    folder.mkdir()
    program = folder / "domogate"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -IS {__file__} {control} "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


def _ask(control: socket.socket, arguments: list[str]) -> socket.socket:
    """Returns the socket on which the fork server reports the process id, and later the status."""
    ours, theirs = socket.socketpair()
    with theirs:
        socket.send_fds(control, [b"."], [theirs.fileno(), *range(3)])
    command = {"module": "domogate.cli", "arguments": arguments, "environment": dict(os.environ), "folder": str(Path.cwd())}
    ours.sendall(json.dumps(command).encode())
    ours.shutdown(socket.SHUT_WR)
    return ours


def _read(reports: socket.socket) -> int:
    return int(_STATUS.unpack(reports.recv(_STATUS.size, socket.MSG_WAITALL))[0])


def main(control: int, arguments: list[str]) -> int:
    reports = _ask(socket.socket(fileno=control), arguments)
    process = _read(reports)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, frame: os.kill(process, number))
    status = _read(reports)
    return status if status >= 0 else _ENDED_BY_SIGNAL - status


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
