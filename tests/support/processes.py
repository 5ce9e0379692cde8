"""Processes that run `domogate`: started normally, or forked from a prepared process, because tests start hundreds."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import IO

from support import fork_server

CLI = "domogate.cli"
_FIRST_ANSWER = 240.0
"""Seconds. The first answer comes after all imports, which take long on a busy machine."""
_TESTS = Path(__file__).parents[1]


class ForkedProcess:
    """A forked `domogate`, with the interface of Popen."""

    def __init__(self, arguments: list[str], reports: socket.socket) -> None:
        self.args = arguments
        self.returncode: int | None = None
        self._reports = reports
        self.pid = self._read_report(_FIRST_ANSWER)

    def _read_report(self, timeout: float | None) -> int:
        readable, _, _ = select.select([self._reports], [], [], timeout)
        if not readable:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        report = self._reports.recv(fork_server.STATUS.size, socket.MSG_WAITALL)
        assert len(report) == fork_server.STATUS.size, "the parent that reports the exit status was killed"
        return int(fork_server.STATUS.unpack(report)[0])

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self.returncode = self._read_report(timeout)
            self._reports.close()
        return self.returncode

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


Process = subprocess.Popen[bytes] | ForkedProcess


class ForkServer:
    """The process that forks. The first command in a test run starts it; it ends with the last test process."""

    def __init__(self) -> None:
        self.shared: Path | None = None
        """The folder in which all processes of a test run find the socket."""
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def fork(
        self, module: str, arguments: list[str], environment: Mapping[str, str], stdout: IO[bytes], stderr: IO[bytes]
    ) -> ForkedProcess:
        control = self.connect(environment)
        ours, theirs = socket.socketpair()
        with theirs, Path(os.devnull).open("rb") as nothing:
            streams = (nothing, stdout, stderr)
            socket.send_fds(control, [b"."], [theirs.fileno(), *(stream.fileno() for stream in streams)])
        command = {"module": module, "arguments": arguments, "environment": dict(environment), "folder": str(Path.cwd())}
        ours.sendall(json.dumps(command).encode())
        ours.shutdown(socket.SHUT_WR)
        return ForkedProcess(arguments, ours)

    def connect(self, environment: Mapping[str, str]) -> socket.socket:
        """The socket for commands. The first call in a test run starts the process that forks."""
        if self._control is None:
            assert self.shared is not None, "no folder for the socket"
            self._control = self._find_or_start(self.shared, environment)
        return self._control

    def _find_or_start(self, shared: Path, environment: Mapping[str, str]) -> socket.socket:
        link = shared / "fork-server"
        with (shared / "fork-server.lock").open("wb") as lock:
            flock(lock, LOCK_EX)
            with suppress(FileNotFoundError, ConnectionRefusedError):
                return _connect(link.readlink())
            link.unlink(missing_ok=True)
            link.symlink_to(self._start(environment))
            return _connect(link.readlink())

    def _start(self, environment: Mapping[str, str]) -> Path:
        """Return the path of the socket, which must be short. The process removes it at its end."""
        path = Path(tempfile.mkdtemp(prefix="domogate-fork-")) / "socket"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            listener.listen(64)
            self._process = subprocess.Popen(
                [sys.executable, "-P", fork_server.__file__, str(listener.fileno())],
                env=dict(environment),
                pass_fds=(listener.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        return path

    def close(self) -> None:
        if self._control is not None:
            self._control.shutdown(socket.SHUT_RDWR)  # a program of a shell may have the socket too
            self._control.close()
            self._control = None
        if self._process is not None:
            self._process.wait()
            self._process = None


def _connect(path: Path) -> socket.socket:
    control = socket.socket(socket.AF_UNIX)
    try:
        control.connect(str(path))
    except OSError:
        control.close()
        raise
    return control


_ready: ForkServer | None = None


def use_fork_server() -> ForkServer:
    """From now on `launch` forks. For tests only: soak and benchmarks need new processes."""
    global _ready
    _ready = _ready or ForkServer()
    return _ready


def launch(
    arguments: list[str],
    environment: Mapping[str, str],
    stdout: IO[bytes],
    stderr: IO[bytes],
    *,
    new_interpreter: bool = False,
    module: str = CLI,
) -> Process:
    """`domogate` with these arguments. `new_interpreter` never forks. Another `module` changes it before it begins."""
    if _ready is not None and not new_interpreter:
        return _ready.fork(module, arguments, environment, stdout, stderr)
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        env={**environment, "PYTHONPATH": str(_TESTS)} if module != CLI else dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
    )


def run(arguments: list[str], environment: Mapping[str, str], deadline: float) -> "subprocess.CompletedProcess[str]":
    """Like subprocess.run, but also for forked processes."""
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        process = launch(arguments, environment, stdout, stderr)
        try:
            process.wait(deadline)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        output = []
        for stream in (stdout, stderr):
            stream.seek(0)
            output.append(stream.read().decode())
    return subprocess.CompletedProcess(arguments, process.returncode or 0, *output)
