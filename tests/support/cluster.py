"""A cluster on this machine: PostgreSQL, NATS, gateways with the demo estate, and a balancer.

Each gateway reaches the two servers through its own proxies, so it can be cut off.
"""

import asyncio
import json
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import psycopg

from domogate.domain.shards import choose_member
from support.balancer import Balancer
from support.nats_server import NatsServer
from support.ports import free_port
from support.postgres import PostgresServer, postgres_server
from support.processes import CLI, Process, launch
from support.restartable import clean_environment, is_ready
from support.tcp_proxy import TcpProxy

START_PATIENCE = 200.0

T = TypeVar("T")


class _Loop:
    """An event loop in its own thread, for the proxies and the balancer."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="cluster network", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def call(self, work: Callable[[], None]) -> None:
        self._loop.call_soon_threadsafe(work)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Member:
    """One gateway of the cluster. It keeps its port and its folder when it is started again."""

    def __init__(self, number: int, folder: Path, environment: Mapping[str, str], network: _Loop) -> None:
        self.number = number
        self.module = CLI
        self.port = free_port()
        self.folder = folder / f"gateway-{number}"
        self.folder.mkdir()
        self.log = self.folder / "gateway.log"
        self.ready_file = self.folder / "ready.json"
        self.process: Process | None = None
        self.environment = {**environment, "PGAPPNAME": f"gateway-{number}"}
        self._network = network
        self.database: TcpProxy | None = None
        self.nats: TcpProxy | None = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def connect(self, postgres: Path, nats_port: int) -> None:
        self.database, self.nats = TcpProxy(postgres), TcpProxy(nats_port)
        for proxy in (self.database, self.nats):
            self._network.run(proxy.start())

    def spawn(self, command: str, **settings: str) -> None:
        """Start the process and do not wait."""
        assert self.database is not None
        assert self.nats is not None
        environment = {
            **self.environment,
            "DOMOGATE_DATABASE": f"postgresql+psycopg://postgres@127.0.0.1:{self.database.port}/postgres",
            "DOMOGATE_NATS": f"nats://127.0.0.1:{self.nats.port}",
            **settings,
        }
        arguments = [command, "--data", str(self.folder / "data"), "--port", str(self.port)]
        with self.log.open("ab") as log:
            arguments += ["--ready-file", str(self.ready_file)]
            self.process = launch(arguments, environment, log, log, module=self.module)

    def wait_ready(self) -> None:
        deadline = time.monotonic() + START_PATIENCE
        while not (self.ready_file.exists() and is_ready(self.port)):
            assert self.process is not None
            assert self.process.poll() is None, f"gateway {self.number} ended:\n{self.log.read_text()[-4000:]}"
            assert time.monotonic() < deadline, f"gateway {self.number} is not ready:\n{self.log.read_text()[-4000:]}"
            time.sleep(0.02)

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self._end()

    def terminate(self) -> None:
        """End it as an operator does, and wait for its end."""
        self.signal(signal.SIGTERM)
        self._end()

    def _end(self) -> None:
        assert self.process is not None
        self.process.wait(120)
        self.ready_file.unlink(missing_ok=True)

    def freeze(self) -> None:
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.signal(signal.SIGCONT)

    def cut(self, *, nats: bool = True, database: bool = True) -> None:
        """Let no byte pass between this gateway and the servers."""
        for proxy, is_cut in ((self.nats, nats), (self.database, database)):
            if proxy is not None and is_cut:
                self._network.call(proxy.cut)

    def heal(self) -> None:
        for proxy in (self.nats, self.database):
            if proxy is not None:
                self._network.call(proxy.heal)


class Cluster:
    """The servers and the members. `ready` is the content of the ready file."""

    def __init__(self, folder: Path, postgres: PostgresServer, gateways: int, settings: Mapping[str, str]) -> None:
        self._network = _Loop()
        self.postgres = postgres
        self.nats = NatsServer(folder)
        self.port = free_port()
        self.base_url = f"http://127.0.0.1:{self.port}"
        self.environment = clean_environment(
            {
                **postgres.settings_for_a_command(),
                "DOMOGATE_CLUSTER": "demo",
                "DOMOGATE_NATS": self.nats.url,
                "DOMOGATE_PUBLIC_URL": self.base_url,
                "DOMOGATE_CONNECTIONS_MOST_PER_ADDRESS": "6000",
                **settings,
            }
        )
        self.members = [Member(number, folder, self.environment, self._network) for number in range(1, gateways + 1)]
        self._balancer = Balancer(self.port, [member.port for member in self.members])
        self.ready: dict[str, Any] = {}

    def start(self, command: str = "demo") -> None:
        """`command`: `demo`, or `serve` for an estate that was imported before."""
        self.nats.start()
        for member in self.members:
            member.connect(self.postgres.socket, self.nats.port)
        # The first gateway imports the demo estate.
        first, *others = self.members
        first.spawn(command)
        first.wait_ready()
        for member in others:
            member.spawn(command)
        for member in others:
            member.wait_ready()
        self.wait_settled()
        self.start_balancer()
        self.ready = {
            **json.loads(first.ready_file.read_text()),
            "gateways": [{"base_url": member.base_url, "pid": member.pid} for member in self.members],
            "postgres_pid": self.postgres.pid,
            "nats_pid": self.nats.pid,
        }

    def wait_settled(self) -> None:
        """Wait until each shard is held by the gateway that should hold it. Before that, plants move by themselves."""
        deadline = time.monotonic() + START_PATIENCE
        while not self._is_settled():
            assert time.monotonic() < deadline, "the plants have not moved to their gateways"
            time.sleep(0.2)  # each look takes as much time as ten requests

    def _is_settled(self) -> bool:
        living = "lease_until > extract(epoch FROM clock_timestamp())"
        with psycopg.connect(f"host={self.postgres.socket.parent} user=postgres dbname=postgres") as connection:
            ids = [member for (member,) in connection.execute(f"SELECT id FROM leases WHERE {living}").fetchall()]
            holders = connection.execute("SELECT shard, holder FROM shards").fetchall()
        return len(ids) == len(self.members) and all(holder == choose_member(shard, ids) for shard, holder in holders)

    def stop_balancer(self) -> None:
        self._network.run(self._balancer.stop())

    def start_balancer(self) -> None:
        self._network.run(self._balancer.start())

    def stop(self) -> None:
        for member in self.members:
            if member.process is not None and member.process.poll() is None:
                member.heal()
                member.thaw()
                member.signal(signal.SIGTERM)
        for member in self.members:
            if member.process is not None:
                with suppress(Exception):
                    member.process.wait(30)
                member.process.kill()
        self.nats.stop()
        self.stop_balancer()
        for member in self.members:
            for proxy in (member.nats, member.database):
                if proxy is not None:
                    self._network.run(proxy.stop())
        self._network.close()


@contextmanager
def running_cluster(gateways: int = 3, settings: Mapping[str, str] | None = None, *, module: str = CLI) -> Iterator[Cluster]:
    """`module` is the Python module that the gateways run."""
    with tempfile.TemporaryDirectory(prefix="domogate-cluster-") as folder, postgres_server() as postgres:
        cluster = Cluster(Path(folder), postgres, gateways, settings or {})
        for member in cluster.members:
            member.module = module
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()
