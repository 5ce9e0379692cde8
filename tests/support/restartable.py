"""A gateway that is restarted with the same data and the same port, also after a kill."""

import http.client
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.gateway import Gateway
from support.ports import free_port
from support.processes import CLI, Process, launch

START_PATIENCE = 240.0
_GLANCE = 0.01


def is_ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


@dataclass
class RestartableGateway:
    """A data folder and a port, and the processes that serve them one after the other."""

    directory: Path
    environment: dict[str, str]
    port: int = field(default_factory=free_port)
    known: dict[str, Any] = field(default_factory=dict)
    """The contents of the ready file. Credentials and address outlive a process."""
    start_times: list[float] = field(default_factory=list)
    module: str = CLI
    """As in `launch`."""

    @property
    def data(self) -> Path:
        return self.directory / "data"

    @property
    def database(self) -> Path:
        return self.data / "domogate.sqlite3"

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def spawn(self) -> Process:
        """Start it and do not wait."""
        arguments = ["serve", "--data", str(self.data), "--port", str(self.port)]
        with (self.directory / "gateway.log").open("ab") as log:
            return launch(arguments, self.environment, log, log, module=self.module)

    def start(self) -> Gateway:
        """Start it and wait for the first 200 of /readyz. The time is added to `start_times`."""
        begun = time.monotonic()
        process = self.spawn()
        gateway = self.connect(process)
        try:
            while not is_ready(self.port):
                assert process.poll() is None, f"the gateway ended with {process.returncode}:\n{gateway.log[-4000:]}"
                waited = time.monotonic() - begun
                assert waited < START_PATIENCE, f"not ready after {waited:.0f} s:\n{gateway.log[-4000:]}"
                time.sleep(_GLANCE)
        except BaseException:
            kill(process)
            raise
        self.start_times.append(time.monotonic() - begun)
        return gateway

    def connect(self, process: Process) -> Gateway:
        ready = {"base_url": self.base_url, "auth_url": f"{self.base_url}/auth", **self.known}
        return Gateway(process, self.data, self.directory / "gateway.log", ready, self.environment)


def kill(process: Process) -> None:
    """Kill the process with SIGKILL."""
    process.kill()
    process.wait()


def clean_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """An environment with only these settings, without those of the caller's shell."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("DOMOGATE_")}
    return {**inherited, "NO_COLOR": "1", "COLUMNS": "200", **settings}
