"""`domogate`, imported once and forked for every command, because an import takes a second in each of hundreds of processes.

`support.processes` runs this as a script with the number of a listening socket. All processes of a test run connect to it. A
forked process has its own arguments, environment, folder and streams; it only inherits the imported modules. It ends without
freeing them.
"""

import asyncio
import atexit
import gc
import json
import os
import pkgutil
import runpy
import select
import shutil
import signal
import socket
import struct
import sys
import threading
import time
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

STATUS = struct.Struct("i")
"""The answers on the socket of a command: first its process id, later its exit status."""
_STREAMS = 3
_IMPORTED_LATER = (
    "alembic.command",
    "cryptography.hazmat.primitives.ciphers.aead",
    "domogate.app.cluster",
    "domogate.app.home_api",
    "domogate.app.identity_surface",
    "domogate.app.management_api",
    "domogate.app.own_apis",
    "domogate.app.serving",
    "domogate.drivers.simulator.simulator",
    "encodings.idna",
    "psycopg",
    "sqlalchemy.dialects.postgresql.psycopg",
    "uvicorn.lifespan.off",
    "uvloop",
)
"""Modules that a gateway imports at its start or for a request, and most commands do not."""
_IMPORTED_WHOLE = (
    "auth",
    "developer",
    "events",
    "fabric",
    "homes",
    "http_api",
    "management",
    "services",
    "stores",
    "tickets",
    "webhooks",
    "wire",
)
"""Packages of which a gateway imports most modules."""


def next_command(listener: socket.socket) -> dict[str, Any]:
    """Return in each process that is forked for a command. The forking process exits when all its connections are closed."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system removes ended children, because no code waits for them
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    controls = [listener.accept()[0]]
    while controls or _is_asked_at_the_end(listener):
        for readable in select.select([listener, *controls], [], [])[0]:
            if readable is listener:
                controls.append(listener.accept()[0])
                continue
            asked, descriptors, _, _ = socket.recv_fds(readable, 1, 1 + _STREAMS)
            if not asked:
                controls.remove(readable)
                readable.close()
            elif os.fork() == 0:
                for inherited in (listener, *controls):
                    inherited.close()
                return _attend(*descriptors)
            for descriptor in descriptors:
                os.close(descriptor)
    sys.exit()


def _is_asked_at_the_end(listener: socket.socket) -> bool:
    """Remove the socket and its folder. Returns whether somebody has connected before."""
    shutil.rmtree(Path(listener.getsockname()).parent, ignore_errors=True)
    return bool(select.select([listener], [], [], 0)[0])


def _attend(reports_to: int, *streams: int) -> dict[str, Any]:
    """Fork again and report the exit status. Return in the process that runs the command."""
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


def run(module: str) -> None:
    """Run the module as a command, and end the process.

    A normal end would free all inherited modules one by one. This takes longer than most commands, because the system first has
    to copy the memory that the processes share. A command that fails with an exception ends normally.
    """
    try:
        if module == "domogate.cli":
            import_module(module).main()
        else:
            sys.path.insert(0, str(Path(__file__).parent.parent))
            runpy.run_module(module, run_name="__main__")
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        status = end.code or 0
    else:
        status = 0
    waits_for_threads: Any = threading
    waits_for_threads._shutdown()
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # nobody reads the output any more: the normal end reports it
        sys.exit(status)
    os._exit(status)


def import_all(package: Any) -> None:
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if ".migrations" not in module.name:  # alembic runs them
            import_module(module.name)


def prepare_the_demo() -> None:
    """Read the demo estate and hash its passwords once for all forked demos, because this takes most of the start of a demo.

    The hashes are quick ones. A hash says how much memory it needs, so each login in a forked demo is quick, too.
    """
    demo: Any = import_module("domogate.cli.demo")
    hashing: Any = import_module("domogate.identity.hashing")
    hashing._NICENESS = 0  # a thread of low priority would get no processor for minutes while other tests run
    hasher = hashing.PasswordHasher(memory_kib=8, passes=1)
    demo.read_estate = cache(demo.read_estate)
    told = demo.read_estate(demo.demo_text(), "the demo estate")
    build_estate, built = demo.build_estate, asyncio.run(demo.build_estate(told, hasher))
    hasher.close()  # its threads do not survive a fork

    async def build(file: Any, own_hasher: Any) -> Any:
        return built if file is told else await build_estate(file, own_hasher)

    demo.build_estate = build


if __name__ == "__main__":
    from domogate.cli.commands import cli

    list(cli.load_all())
    for name in _IMPORTED_LATER:
        import_module(name)
    for name in _IMPORTED_WHOLE:
        import_all(import_module(f"domogate.{name}"))
    templates = import_module("domogate.auth.pages.rendering").open_templates()
    for template in templates.list_templates():
        templates.get_template(template)
    prepare_the_demo()
    gc.freeze()
    command = next_command(socket.socket(fileno=int(sys.argv[1])))
    become(command)
    run(command["module"])
