"""`domogate`, imported once and forked for every command: importing it anew takes a second of each of hundreds of processes.

Run as a script by `support.launching`, with the number of a socket to listen on. What is forked is a process like any other,
with arguments, environment, folder and streams of its own; it has nothing from here but what importing has left in memory.
"""

import asyncio
import gc
import json
import os
import signal
import socket
import struct
import sys
import time
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

STATUS = struct.Struct("i")
"""What goes back on a command's own socket: its process id at once, and how it ended when it has."""
_STREAMS = 3
_IMPORTED_LATER = ("alembic.command", "domogate.app.serving")
"""What not every command needs, and a gateway imports at its start."""


def next_command(control: socket.socket) -> dict[str, Any]:
    """Returns in each process that is forked for a command. Ends the one that forks when nobody is left to ask for any."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who wait for the commands
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        asked, descriptors, _, _ = socket.recv_fds(control, 1, 1 + _STREAMS)
        if not asked:
            sys.exit()
        if os.fork() == 0:
            control.close()
            return _attend(*descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _attend(reports_to: int, *streams: int) -> dict[str, Any]:
    """Fork once more, and tell what becomes of it; returns in the process that is to run the command."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with socket.socket(fileno=reports_to) as reports, reports.makefile("rb") as told:
        command: dict[str, Any] = json.load(told)
        process = os.fork()
        if process:
            for stream in range(_STREAMS):
                os.close(stream)
            for stream in streams:
                os.close(stream)
            reports.sendall(STATUS.pack(process))
            _, status = os.waitpid(process, 0)
            reports.sendall(STATUS.pack(os.waitstatus_to_exitcode(status)))
            os._exit(0)
    for stream, place in zip(streams, range(_STREAMS), strict=True):
        os.dup2(stream, place)
        os.close(stream)
    return command


def become(command: dict[str, Any]) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(command["environment"])
    time.tzset()
    os.chdir(command["folder"])
    sys.argv = ["domogate", *command["arguments"]]


def prepare_the_demo() -> None:
    """Read the demo estate and hash its passwords now, once for all demos that are forked: that is most of a demo's start."""
    demo = import_module("domogate.cli.demo")
    hasher = import_module("domogate.identity.hashing").PasswordHasher()
    demo.read_estate = cache(demo.read_estate)
    told = demo.read_estate(demo.demo_text(), "the demo estate")
    build_estate, built = demo.build_estate, asyncio.run(demo.build_estate(told, hasher))
    hasher.close()  # its threads would not be there after a fork

    async def build(file: Any, own_hasher: Any) -> Any:
        return built if file is told else await build_estate(file, own_hasher)

    demo.build_estate = build


if __name__ == "__main__":
    from typer.testing import CliRunner

    from domogate.cli import cli, main

    for name in _IMPORTED_LATER:
        import_module(name)
    import_module("domogate.auth.pages.rendering").compile_templates()
    prepare_the_demo()
    sys.path.insert(0, str(Path(__file__).parent.parent))
    import_module("support.tables").make_tables_at_once(prepared=True)
    del sys.path[0]
    CliRunner().invoke(cli, ["version"])  # the command line imports a part of itself with its first command
    gc.freeze()
    become(next_command(socket.socket(fileno=int(sys.argv[1]))))
    main()
