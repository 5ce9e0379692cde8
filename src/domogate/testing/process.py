"""Starts and stops the process of a gateway for tests."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from domogate.testing.estate import Estate

_POLL = 0.005
_STOP_SECONDS = 10.0


class GatewayFailed(Exception):
    """The gateway did not start. The text contains its messages."""


class GatewayProcess:
    """`domogate demo --testing` as a process, with its files in a temporary folder."""

    def __init__(self, estate: Estate | None, seconds: float) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="domogate-kit-")
        folder = Path(self._folder.name)
        self._ready_file, self._log = folder / "ready.json", folder / "log"
        arguments = [sys.executable, "-m", "domogate.cli", "demo", "--testing", "--port", "0", "--log-level", "warning"]
        arguments += ["--ready-file", str(self._ready_file)]
        if estate is not None:
            (folder / "estate.yaml").write_text(json.dumps(estate.record), encoding="utf-8")
            arguments += ["--estate", str(folder / "estate.yaml")]
        # Settings of the developer's own gateway must not change the gateway of the tests.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DOMOGATE_")}
        with self._log.open("wb") as log:
            self._process = subprocess.Popen[bytes](
                arguments, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder
            )
        self.pid = self._process.pid
        try:
            self.ready = self._wait(time.monotonic() + seconds)
        except BaseException:
            self.stop()
            raise

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
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()
