"""The supervisor of several processes starts a process again, even if this was impossible for some time."""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from domogate.app import processes
from domogate.app.processes import PROCESS, Supervisor
from domogate.settings import Settings
from support.log_lines import capture_logs

PROGRAM = f"""#!{sys.executable}
import os, socket, sys
number, descriptor = map(int, os.environ["{PROCESS}"].split())
with open(sys.argv[1], "a") as file:
    file.write(f"{{number}} {{os.getpid()}}\\n")
control = socket.socket(fileno=descriptor)
control.sendall(b"r")
control.recv(1)  # until the supervisor stops
"""


async def test_a_process_that_cannot_be_started_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """During an upgrade, the program is missing for a moment. A machine without free memory cannot start it either."""
    monkeypatch.setattr(processes, "_FIRST_PAUSE", 0.01)
    program, started = tmp_path / "gateway", tmp_path / "started"

    def install() -> None:
        program.write_text(PROGRAM)
        program.chmod(0o700)

    async def wait_for_starts(number: int) -> list[str]:
        until = time.monotonic() + 30
        while len(lines := started.read_text().splitlines()) < number and time.monotonic() < until:
            await asyncio.sleep(0.01)
        return lines

    async def on_ready(_: int) -> None:
        ready.set()

    ready = asyncio.Event()
    install()
    settings = Settings(data=tmp_path, port=0, database="postgresql://h/d", nats=("nats://h:1",), cluster="north")
    with capture_logs() as logs:
        running = asyncio.create_task(Supervisor(settings, 2, [str(program), str(started)]).run(on_ready))
        await asyncio.wait_for(ready.wait(), 30)
        program.unlink()
        second = next(line.split() for line in await wait_for_starts(2) if line.startswith("2 "))
        os.kill(int(second[1]), signal.SIGKILL)
        while not any("started again" in entry["event"] for entry in logs):
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.2)
        install()
        assert [line.split()[0] for line in await wait_for_starts(3)][2:] == ["2"]
        os.kill(os.getpid(), signal.SIGTERM)
        assert await asyncio.wait_for(running, 30) == 0
