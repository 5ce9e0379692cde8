"""A gateway that runs as in a container: without rights, and with a root folder that it cannot write."""

import json
import subprocess
import time
from pathlib import Path

from support.container_root import ContainerRoot, give
from support.ports import free_port

PATIENCE = 240.0


class Container:
    """A running container: the entry point of the image with a data folder, a temporary folder and few variables."""

    def __init__(self, image: ContainerRoot, user: str, folder: Path, **settings: str) -> None:
        self._image, self._user, self._log, port = image, user, folder / "log", free_port()
        self.url = f"http://127.0.0.1:{port}"
        self._settings = {
            **image.environment,
            "DOMOGATE_PORT": str(port),
            "DOMOGATE_PUBLIC_URL": "https://gateway.example.com",
            "DOMOGATE_TRUSTED_PROXIES": "10.0.0.1",
            **settings,
        }
        self._mounts = {"/data": folder / "data", "/tmp": folder / "tmp"}
        for writable in self._mounts.values():
            writable.mkdir(parents=True)
            give(writable, user)
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                self._command(*image.stage.last("ENTRYPOINT").command, *image.stage.last("CMD").command), stdout=log, stderr=log
            )

    @property
    def log(self) -> str:
        return self._log.read_text()

    def _command(self, *command: str) -> list[str]:
        return self._image.command(command, self._settings, self._mounts, user=self._user, read_only=True)

    def write(self, path: str) -> int:
        return subprocess.run(self._command("touch", path), capture_output=True, check=False, timeout=60).returncode

    def check_health(self) -> int:
        """The exit code of the command of HEALTHCHECK."""
        command: list[str] = json.loads(self._image.stage.last("HEALTHCHECK").rest.removeprefix("CMD "))
        return subprocess.run(self._command(*command), capture_output=True, check=False, timeout=60).returncode

    def wait(self) -> int:
        """Wait until it has ended. Return the exit code."""
        return self.process.wait(PATIENCE)

    def wait_until_healthy(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while self.check_health() != 0:
            assert self.process.poll() is None, self.log
            assert time.monotonic() < deadline, self.log
            time.sleep(1)  # a check starts several programs, which slow down the start of the gateway
