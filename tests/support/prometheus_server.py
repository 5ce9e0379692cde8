"""A real Prometheus server for tests."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import yaml

from support.gateway import eventually
from support.http import client
from support.ports import free_port
from support.promql import ALERTS


class Prometheus:
    """A running server, asked through its HTTP API."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http

    def is_ready(self) -> bool:
        try:
            return self._http.get("/-/ready").status_code == 200
        except httpx.TransportError:
            return False

    def ask(self, expression: str) -> list[dict[str, Any]]:
        """Evaluate the expression now. An error of Prometheus fails the test."""
        answer = self._http.get("/api/v1/query", params={"query": expression}).json()
        assert answer["status"] == "success", f"{expression}: {answer}"
        assert not answer.get("warnings"), f"{expression}: {answer}"
        result: list[dict[str, Any]] = answer["data"]["result"]
        return result

    def list_rules(self) -> list[dict[str, Any]]:
        groups = self._http.get("/api/v1/rules").json()["data"]["groups"]
        return [rule for group in groups for rule in group["rules"]]


@contextmanager
def prometheus(folder: Path, targets: list[str]) -> Iterator[Prometheus]:
    """Start a server that reads the metrics of these addresses every second, with our alert rules."""
    scraping = {"job_name": "domogate", "static_configs": [{"targets": targets}]}
    document = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(ALERTS)],
        "scrape_configs": [scraping],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(document))
    port = free_port()
    command = [
        "prometheus",
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'prometheus'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        with client(f"http://127.0.0.1:{port}") as http:
            server = Prometheus(http)
            eventually(server.is_ready, "Prometheus is ready")
            yield server
    finally:
        process.terminate()
        process.wait(60)
