"""`domogate serve --processes 2`: two gateways of a cluster on one port, and the supervisor that keeps them running."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import httpx
import pytest

from support.gateway import eventually, import_estate, run_command
from support.plug_estate import plug_estate
from support.ports import free_port, free_ports
from support.postgres import PostgresServer, postgres_server
from support.processes import Process, launch
from support.restartable import clean_environment

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PATIENCE = 200.0


def is_running(pid: int) -> bool:
    """An ended process that nobody has waited for yet does not run."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Processes:
    """A supervisor with two processes."""

    def __init__(self, folder: Path, server: PostgresServer, environment: dict[str, str], *, forked: bool) -> None:
        """`forked`: the supervisor is not a new interpreter, which starts faster. The gateways always are."""
        self._server = server
        self.port, (self.metrics_port, _) = free_port(), free_ports(2)
        self._folder = folder
        self.environment = {**environment, "DOMOGATE_METRICS_PORT": str(self.metrics_port)}
        self.log_file, self.ready_file = folder / "gateway.log", folder / "ready.json"
        self.supervisor = self._start(forked)

    def _start(self, forked: bool) -> Process:
        flags = ["--port", str(self.port), "--data", str(self._folder / "data"), "--ready-file", str(self.ready_file)]
        with self.log_file.open("ab") as log:
            command = ["serve", "--processes", "2", *flags]
            return launch(command, self.environment, log, log, new_interpreter=not forked)

    @property
    def log(self) -> str:
        return self.log_file.read_text()

    def wait_ready(self) -> None:
        eventually(self.ready_file.exists, f"ready:\n{self.log[-3000:]}", PATIENCE)

    def list_pids(self) -> list[int]:
        path = Path(f"/proc/{self.supervisor.pid}/task/{self.supervisor.pid}/children")
        return [pid for pid in map(int, path.read_text().split()) if is_running(pid)]

    def ask(self) -> int:
        """Ask on a new connection. A connection to a process that was just killed is lost; then a client asks again."""
        with suppress(httpx.TransportError):
            return httpx.get(f"http://127.0.0.1:{self.port}/healthz", timeout=60, trust_env=False).status_code
        return 0

    def count_requests(self, number: int) -> float:
        """The number of requests that this process has answered."""
        url = f"http://127.0.0.1:{self.metrics_port + number - 1}/metrics"
        with suppress(httpx.TransportError):
            lines = httpx.get(url, timeout=60, trust_env=False).text.splitlines()
            return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith("domogate_requests_total{"))
        return 0

    def has_answered(self, number: int) -> bool:
        """Whether this process answers requests, of several that are sent now."""
        before = self.count_requests(number)
        statuses = {self.ask() for _ in range(20)}
        assert statuses <= {0, 200}
        return self.count_requests(number) > before

    def list_members(self) -> list[tuple[str, int]]:
        """The name of each gateway whose lease is valid, and the number of its shards."""
        done = run_command(["cluster", "show", "--json"], self.environment)
        assert done.returncode == 0, done.stderr
        return sorted((member["name"].rpartition(":")[2], member["shards"]) for member in json.loads(done.stdout))

    def wait_until_driven(self) -> None:
        """Wait until both processes, and no other gateway, hold all shards."""
        eventually(lambda: self._server.is_driven_by(2), "two gateways drive all plants", PATIENCE)
        # The lease of a killed process lasts some seconds more. When it ends, the next process gets the shards.
        eventually(self._hold_all_shards, "the two processes hold all shards", PATIENCE)

    def _hold_all_shards(self) -> bool:
        members = self.list_members()
        names = [f"{self.port}/{number}" for number in (1, 2)]
        return [name for name, _ in members] == names and sum(shards for _, shards in members) == 1024

    def end(self) -> None:
        pids = self.list_pids() if self.supervisor.poll() is None else []
        self.supervisor.kill()
        self.supervisor.wait()
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@contextmanager
def running(folder: Path, server: PostgresServer, *, forked: bool = False) -> Iterator[Processes]:
    environment = clean_environment({**server.settings_for_a_gateway(), "DOMOGATE_DRAIN": "3"})
    import_estate(plug_estate(), folder, folder / "data", environment)
    processes = Processes(folder, server, environment, forked=forked)
    try:
        processes.wait_ready()
        yield processes
    finally:
        processes.end()


def check_a_killed_process(processes: Processes) -> None:
    before = processes.list_pids()
    assert len(before) == 2
    os.kill(before[0], signal.SIGKILL)
    assert 200 in {processes.ask() for _ in range(10)}, "the other process goes on"
    eventually(lambda: len(processes.list_pids()) == 2 and before[0] not in processes.list_pids(), "a new one", PATIENCE)
    assert before[1] in processes.list_pids()
    for number in (1, 2):
        eventually(partial(processes.has_answered, number), f"process {number} answers", PATIENCE)
    assert "a process does not run; it is started again" in processes.log
    assert all(f"process={name}" in processes.log for name in ("1", "2", "supervisor"))


def check_a_stopped_process(processes: Processes) -> None:
    before = processes.list_pids()
    statuses: list[int] = []
    stop = threading.Event()

    def ask_without_pause() -> None:
        while not stop.is_set():
            statuses.append(processes.ask())

    askers = [threading.Thread(target=ask_without_pause) for _ in range(4)]
    for asker in askers:
        asker.start()
    try:
        eventually(lambda: len(statuses) > 40, "requests are answered", PATIENCE)
        os.kill(before[0], signal.SIGTERM)
        eventually(lambda: before[0] not in processes.list_pids(), "the process ends", PATIENCE)
        answered = len(statuses)
        eventually(lambda: len(statuses) > answered + 40, "the other process answers", PATIENCE)
    finally:
        stop.set()
        for asker in askers:
            asker.join()
    assert set(statuses) == {200}


def test_they_share_a_port_are_started_again_lose_no_request_and_end_together(tmp_path: Path, server: PostgresServer) -> None:
    with running(tmp_path, server) as processes:
        processes.wait_until_driven()
        for number in (1, 2):
            eventually(partial(processes.has_answered, number), f"process {number} answers", PATIENCE)
        check_a_killed_process(processes)
        processes.wait_until_driven()  # the lease of the killed process has ended
        check_a_stopped_process(processes)
        processes.wait_until_driven()  # it was started again too
        pids = processes.list_pids()
        processes.supervisor.terminate()
        assert processes.supervisor.wait(PATIENCE) == 0
        assert not any(map(is_running, pids))
        assert not processes.ready_file.exists()
        assert processes.list_members() == [], "they left the cluster"


def test_they_end_when_the_supervisor_is_killed(tmp_path: Path, server: PostgresServer) -> None:
    with running(tmp_path, server, forked=True) as processes:
        pids = processes.list_pids()
        processes.supervisor.kill()
        processes.supervisor.wait()
        eventually(lambda: not any(map(is_running, pids)), "the processes end", PATIENCE)
        assert processes.list_members() == [], "they left the cluster"
