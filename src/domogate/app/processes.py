"""Runs several gateways of a cluster on one machine and one port: `domogate serve --processes N` (Decision 0093).

A supervisor starts the processes. When a process ends, the supervisor starts it again. A pair of sockets connects the
supervisor with each process. When a process is ready for requests, it sends one byte to the supervisor. When the supervisor
ends, or shuts down its socket of the pair, the process finishes its requests and ends.
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from domogate.common.log import get_logger
from domogate.common.tasks import wait_for_event
from domogate.edge import server
from domogate.edge.logs import setup_logs
from domogate.settings import BadSettings, Mistake, Settings

_log = get_logger(__name__)

PROCESS = "DOMOGATE_PROCESS"
"""The environment variable with the number of a process and the file descriptor of its socket."""
_READY = b"r"
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
"""In seconds: the first and the longest pause before a process that has ended is started again."""
_HEALTHY = 60.0
"""In seconds. If a process has run for at least this time before it ends, the next pause is `_FIRST_PAUSE` again."""
_DRAINS, _SLACK = 2, 10.0
"""A stopping process is killed if it still runs after `_DRAINS` times the setting `drain` plus `_SLACK` seconds."""

_LAST_PORT = 65_535


class GatewayProcess:
    """This process, if a supervisor started it: its number, and the socket to the supervisor."""

    def __init__(self, number: int, control: socket.socket) -> None:
        self.number = number
        self._control = control
        self._watching: asyncio.Task[None] | None = None

    async def tell_ready(self) -> None:
        await asyncio.get_running_loop().sock_sendall(self._control, _READY)

    def watch_supervisor(self, must_stop: asyncio.Event) -> None:
        """Set `must_stop` when the supervisor says that this process must end, or when the supervisor has ended."""

        async def watch() -> None:
            await _receive(self._control)
            must_stop.set()

        self._watching = asyncio.create_task(watch(), name="watch the supervisor")


def open_process() -> GatewayProcess | None:
    """Return the number and the socket of this process, or None if no supervisor started this process."""
    given = os.environ.pop(PROCESS, None)
    if given is None:
        return None
    number, descriptor = map(int, given.split())
    control = socket.socket(fileno=descriptor)
    control.setblocking(False)
    return GatewayProcess(number, control)


class Supervisor:
    """Starts the gateway processes, and starts them again when they end, until it gets a signal to stop."""

    def __init__(self, settings: Settings, processes: int, command: Sequence[str]) -> None:
        """`command` is the command line of one gateway. The supervisor adds the flags that differ between the processes."""
        _check(settings, processes)
        self._settings = settings
        self._processes = processes
        self._command = command
        self._controls: dict[int, socket.socket] = {}
        self._running: dict[int, asyncio.subprocess.Process] = {}
        self._ready: set[int] = set()
        self._changed = asyncio.Event()
        self._stopping = asyncio.Event()

    async def run(self, on_ready: Callable[[int], Awaitable[None]]) -> int:
        """Run until SIGTERM or SIGINT. `on_ready` is called once with the port, when all processes accept requests.

        Returns 0 after a signal to stop. Process 1 starts first, alone. If it ends before it accepts requests, the other
        processes do not start, and the result is the exit code of process 1, or 1 if this code is 0. Raises CannotListen if the
        port cannot be used.
        """
        setup_logs(self._settings.log_level, self._settings.log_format, process="supervisor")
        host = self._settings.host
        async with server.listen(host, self._settings.port) as free:
            port = free.port  # Without reuse_port, `listen` fails if another program uses the port.
        async with server.listen(host, port, reuse_port=True):  # Keeps the port reserved while processes end and start.
            with self._stopped_by_signals():
                return await self._run(port, on_ready)

    async def _run(self, port: int, on_ready: Callable[[int], Awaitable[None]]) -> int:
        # The first process starts alone: it migrates the database, and it says what is wrong with the settings.
        first = asyncio.create_task(self._run_once(1, port), name="process 1")
        first.add_done_callback(lambda _: self._changed.set())
        await self._wait_until(lambda: 1 in self._ready or first.done())
        if first.done() and not self._stopping.is_set():
            return first.result() or 1
        keepers = [
            asyncio.create_task(self._keep(number, port, first if number == 1 else None), name=f"process {number}")
            for number in range(1, self._processes + 1)
        ]
        try:
            await self._wait_until(lambda: len(self._ready) == self._processes)
            if not self._stopping.is_set():
                await on_ready(port)
            await self._stopping.wait()
            self._drain()
            _, late = await asyncio.wait(keepers, timeout=_DRAINS * self._settings.drain + _SLACK)
            if late:
                _log.error("processes did not end in time, and are killed", processes=len(late))
        finally:
            self._stopping.set()
            for process in self._running.values():
                with suppress(ProcessLookupError):  # The process has just ended.
                    process.kill()
            await asyncio.gather(*keepers)
        return 0

    async def _wait_until(self, is_true: Callable[[], bool]) -> None:
        """Wait until `is_true` returns True, or until the supervisor gets a signal to stop."""
        while not is_true() and not self._stopping.is_set():
            self._changed.clear()
            await self._changed.wait()

    async def _keep(self, number: int, port: int, running: asyncio.Task[int] | None) -> None:
        """Run the process with this number.

        When it ends, or cannot be started, start it again after a pause. Each pause is twice as long as the pause before it, up
        to `_LONGEST_PAUSE`. `running` is given if the process is running already.
        """
        pause = _FIRST_PAUSE
        while running is not None or not self._stopping.is_set():
            started_at = time.monotonic()
            try:
                ended = f"exit code {await (running or self._run_once(number, port))}"
            except OSError as error:  # For example, the program is missing for a moment during an upgrade.
                ended = f"not started: {error}"
            running = None
            if self._stopping.is_set():
                return
            if time.monotonic() - started_at >= _HEALTHY:
                pause = _FIRST_PAUSE
            _log.error("a process does not run; it is started again", number=number, reason=ended, pause=pause)
            await wait_for_event(self._stopping, pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _run_once(self, number: int, port: int) -> int:
        """Start the process with this number, and wait until it ends. Returns its exit code."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with ours, theirs:
            metrics = self._settings.metrics_port
            flags = ["--port", str(port), *(["--metrics-port", str(metrics + number - 1)] if metrics else [])]
            process = await asyncio.create_subprocess_exec(
                *self._command,
                *flags,
                env={**os.environ, PROCESS: f"{number} {theirs.fileno()}"},
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C on a terminal goes only to the supervisor.
            )
            theirs.close()
            self._running[number], self._controls[number] = process, ours
            if self._stopping.is_set():
                self._drain()
            try:
                while await _receive(ours) == _READY:
                    self._ready.add(number)
                    self._changed.set()
                return await process.wait()
            finally:
                self._ready.discard(number)
                del self._running[number], self._controls[number]
                self._changed.set()

    def _drain(self) -> None:
        for control in self._controls.values():
            control.shutdown(socket.SHUT_WR)

    @contextmanager
    def _stopped_by_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        numbers = (signal.SIGTERM, signal.SIGINT)
        for number in numbers:
            loop.add_signal_handler(number, self._on_signal)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)

    def _on_signal(self) -> None:
        """Handle a signal to stop. At the first signal, all processes drain. At the second, they abort their requests."""
        if self._stopping.is_set():
            for process in self._running.values():
                with suppress(ProcessLookupError):  # The process has just ended.
                    process.terminate()
        self._stopping.set()
        self._changed.set()


async def _receive(control: socket.socket) -> bytes:
    """Return the next byte that the other process sends. The result is empty if that process ended or stopped sending."""
    try:
        return await asyncio.get_running_loop().sock_recv(control, 1)
    except ConnectionError:
        return b""


def this_command() -> list[str]:
    """Return a command line that starts this program with the same arguments."""
    return [sys.executable, "-m", "domogate.cli", *sys.argv[1:]]


def _check(settings: Settings, processes: int) -> None:
    """Raises BadSettings if the settings or the operating system do not allow several processes on one port."""
    metrics = settings.metrics_port
    if settings.cluster is None:
        problem = "several processes are a cluster: set database (a PostgreSQL URL), nats and cluster."
    elif not hasattr(socket, "SO_REUSEPORT"):
        problem = "processes cannot share a port on this operating system; start one process."
    elif metrics and metrics <= settings.port < metrics + processes:
        problem = (
            f"each process has its own port for /metrics, here {metrics} to {metrics + processes - 1}, and {settings.port} is"
            " the port of the API; choose another metrics_port."
        )
    elif metrics and metrics + processes - 1 > _LAST_PORT:
        problem = f"each process has its own port for /metrics, and {_LAST_PORT} is the last port; choose a lower metrics_port."
    else:
        return
    raise BadSettings([Mistake("processes", "flag --processes", problem)])
