"""Starts and stops the process of a gateway for tests."""

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from domogate.testing.estate import Estate

_DEMO_ESTATE = Path(__file__).parent.parent / "estate" / "demo.yaml"
_POLL = 0.005
_STOP_SECONDS = 10.0


class GatewayFailed(Exception):
    """The gateway did not start. The text contains its messages."""


class GatewayProcess:
    """`domogate demo --testing` as a process, with its files in a temporary folder.

    The process loads its program at once. It begins to serve when the method `serve` gives it the estate. So a caller can
    start the process before the estate is known.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="domogate-kit-")
        folder = Path(self._folder.name)
        self._ready_file, self._log = folder / "ready.json", folder / "log"
        arguments = [sys.executable, "-m", "domogate.cli", "demo", "--testing", "--port", "0", "--log-level", "warning"]
        arguments += ["--ready-file", str(self._ready_file), "--estate", "-"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen[bytes](
                arguments, env=_environment(), stdin=subprocess.PIPE, stdout=log, stderr=log, cwd=folder
            )
        self.pid = self._process.pid

    def serve(self, estate: Estate | None, seconds: float) -> Any:
        """Serve the estate, or the demo estate if `estate` is None. Returns the content of the ready file.

        Raises GatewayFailed if the gateway ends, or is not ready after this number of seconds. Then the process is stopped.
        """
        try:
            text = _DEMO_ESTATE.read_bytes() if estate is None else json.dumps(estate.record).encode()
            deadline = time.monotonic() + seconds
            with suppress(BrokenPipeError), self._stdin() as stdin:  # If the process has ended, `_wait` says why.
                stdin.write(text)
            return self._wait(deadline)
        except BaseException:
            self.stop()
            raise

    def _stdin(self) -> IO[bytes]:
        assert self._process.stdin is not None
        return self._process.stdin

    def _wait(self, deadline: float) -> Any:
        while not self._ready_file.exists():
            if self._process.poll() is not None:
                raise GatewayFailed(f"the gateway ended with {self._process.returncode}:\n{self.read_log()}")
            if time.monotonic() > deadline:
                raise GatewayFailed(f"the gateway was not ready in time:\n{self.read_log()}")
            time.sleep(_POLL)
        return json.loads(self._ready_file.read_text(encoding="utf-8"))

    def read_log(self) -> str:
        """Return what the gateway has written to its log."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def stop(self) -> None:
        """Stop the process and remove its files."""
        self._process.terminate()
        with suppress(BrokenPipeError):
            self._stdin().close()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()


def _environment() -> dict[str, str]:
    """Return the environment of the gateway.

    Settings of the developer's own gateway must not change the gateway of the tests. The process may write bytecode, because
    without bytecode each start compiles all Python modules of the gateway (Decision 0139).
    """
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("DOMOGATE_") and name != "PYTHONDONTWRITEBYTECODE"
    }
