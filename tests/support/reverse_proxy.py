"""A real nginx or Caddy with the files of deploy/. Only addresses and paths are replaced. It runs without root rights."""

import os
import re
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from support.named_code import ROOT
from support.ports import free_port
from support.tls import make_self_signed

PROGRAMS = "/usr/sbin:/usr/bin:/sbin:/bin"
"""nginx is often in a folder that is only on the path of root."""
_DEADLINE = 60.0
_NOBODY = 65534


@dataclass
class ReverseProxy:
    """The addresses of a proxy on this machine."""

    program: str
    gateway_port: int
    port: int = field(default_factory=free_port)
    plain_port: int = field(default_factory=free_port)
    change: Callable[[str], str] = str
    """Changes the main file of the example for nginx, as its comments say."""
    folder: Path = field(default_factory=Path, init=False)
    """Stands for /tmp and for the folder of the certificate while the program runs."""
    log: str = ""
    """The output of the program. It is known when the program has ended."""

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}"

    @contextmanager
    def run(self) -> Iterator[None]:
        """Start the program. It is stopped at the end."""
        with tempfile.TemporaryDirectory(prefix="domogate-proxy-") as name:
            self.folder = folder = Path(name)
            make_self_signed(folder).key.rename(folder / "certificate.key")
            command = {"nginx": self._configure_nginx, "caddy": self._configure_caddy}[self.program](folder)
            user = self._give_away(folder)
            with (folder / "log").open("wb") as log:
                environment = {"PATH": PROGRAMS, "HOME": str(folder)}
                process = subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=log, user=user, group=user)
            try:
                self._wait_until_it_listens(process, folder / "log")
                yield
            finally:
                process.terminate()
                process.wait(_DEADLINE)
                self.log = (folder / "log").read_text()

    def _configure_nginx(self, folder: Path) -> list[str]:
        for name in ("nginx.conf", "domogate.conf", "upstream.conf"):
            text = (ROOT / "deploy" / "nginx" / name).read_text()
            text = re.sub(r" */(tmp|etc/domogate/tls)/", f" {folder}/", text)
            text = text.replace("/etc/nginx/conf.d/*.conf", f"{folder}/site/*.conf")
            text = re.sub(r"^ *listen \[::\]:.*\n", "", text, flags=re.MULTILINE)
            text = self.change(text) if name == "domogate.conf" else text
            text = text.replace("listen 443 ", f"listen 127.0.0.1:{self.port} ").replace(
                "listen 80;", f"listen 127.0.0.1:{self.plain_port};"
            )
            text = text.replace("127.0.0.1:8080", f"127.0.0.1:{self.gateway_port}")
            (folder / "site").mkdir(exist_ok=True)
            (folder / name if name == "nginx.conf" else folder / "site" / name).write_text(text)
        return ["nginx", "-e", "stderr", "-c", str(folder / "nginx.conf"), "-g", "daemon off;"]

    def _configure_caddy(self, folder: Path) -> list[str]:
        text = (ROOT / "deploy" / "caddy" / "Caddyfile").read_text()
        text = text.replace("/etc/domogate/tls/", f"{folder}/").replace("127.0.0.1:8080", f"127.0.0.1:{self.gateway_port}")
        text = text.replace("\n{\n", f"\n{{\n\tadmin off\n\thttp_port {self.plain_port}\n\thttps_port {self.port}\n", 1)
        text = text.replace("gateway.example.com {", "localhost {\n\tbind 127.0.0.1")
        (folder / "Caddyfile").write_text(text)
        return ["caddy", "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]

    def _give_away(self, folder: Path) -> int | None:
        """Give the folder to a user without rights, if we are root. Return the number of this user."""
        if os.geteuid() != 0:
            return None
        for path in (folder, *folder.rglob("*")):
            os.chown(path, _NOBODY, _NOBODY)
        return _NOBODY

    def _wait_until_it_listens(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        deadline = time.monotonic() + _DEADLINE
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.05)
