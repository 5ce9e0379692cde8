"""Faults of disk, database, process and clock while orders are sent, any number of times.

The clients keep their own journal: which orders were acknowledged, and which had no good answer. After each fault the plugs,
the events of a stream and the deliveries of webhooks are compared with this journal. The database is not asked. The tests do
a few rounds, the soak runs for minutes; both call `FaultRounds.run_one`.
"""

import os
import random
import resource
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from support.estate_view import EstateView
from support.event_client import EventClient
from support.gateway import Gateway, import_estate
from support.http import KEY_HEADER
from support.kill_rounds import all_plugs, check_database
from support.order_clients import PatientClient, Plug, Room, rooms_of, running_in_threads
from support.plug_estate import KEY, OWNER, plug_estate
from support.postgres import PostgresServer, postgres_server
from support.processes import Process
from support.receivers import ThreadedReceiver
from support.restartable import RestartableGateway, clean_environment, is_ready, kill
from support.shifted_gateway import SHIFT, write_shift
from support.store_access import add_credentials

CLIENTS = 6
DEADLINE = 2.0
"""The device deadline, in seconds."""
ANSWERED_WITHIN = DEADLINE + 28.0
"""Every request is answered in this time, also on a busy machine, unless its process is frozen."""
RECOVERED_WITHIN = 90.0
MOST_LOG = 400_000
"""Bytes of log for one fault."""
DAY = 86_400.0
SETTINGS = {
    "DOMOGATE_ACCESS_TOKEN_LIFETIME": "86400",
    "DOMOGATE_ID_TOKEN_LIFETIME": "86400",
    "DOMOGATE_DEVICE_DEADLINE": str(DEADLINE),
    "DOMOGATE_WEBHOOK_NETWORKS": "127.0.0.0/8",
    "DOMOGATE_SIMULATOR_TICK": "3600",
    # A device that obeyed although the gateway could not record it is asked again, so that its true state is seen.
    "DOMOGATE_STATE_MAX_AGE": "0",
    "DOMOGATE_DRAIN": "3",
}


class ShiftedGateway(RestartableGateway):
    """A gateway whose clock can be shifted."""

    def __init__(self, directory: Path, settings: Mapping[str, str]) -> None:
        self.shift_file = directory / "clock-shift"
        environment = clean_environment({**settings, SHIFT: str(self.shift_file)})
        super().__init__(directory, environment, module="support.shifted_gateway")


@dataclass
class FaultRounds:
    """A gateway with clients, a stream, webhooks, and the faults that it meets."""

    gateway: ShiftedGateway
    served: Gateway
    server: PostgresServer | None
    rooms: list[Room]
    chance: random.Random
    stream: EventClient
    receiver: ThreadedReceiver
    met: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    refused: Counter[int] = field(default_factory=Counter)
    slowest: float = 0.0
    clients: Sequence[PatientClient] = ()
    """The clients of the present round."""

    @property
    def process(self) -> Process:
        return self.served.process

    # faults: each begins, lasts some seconds and ends

    def list_faults(self) -> dict[str, Callable[[], None]]:
        faults = {
            "process killed": self.kill_process,
            "process frozen": self.freeze_process,
            "clock ahead": lambda: self.shift_clock(self.chance.choice((0.5, 30, 400)) * DAY),
            "clock behind": lambda: self.shift_clock(-self.chance.choice((0.5, 30, 400)) * DAY),
        }
        if self.server is None:
            return faults | {"disk full": self.fill_disk, "disk read-only": self.refuse_writes}
        return faults | {
            "database frozen": self.freeze_database,
            "database killed": self.kill_database,
            "database restarted": self.restart_database,
        }

    def kill_process(self) -> None:
        kill(self.process)
        self.pause(0.1, 0.5)
        self.served.process = self.gateway.spawn()

    def freeze_process(self) -> None:
        self.process.send_signal(signal.SIGSTOP)
        self.pause(0.5, 4.0)
        self.process.send_signal(signal.SIGCONT)

    def shift_clock(self, seconds: float) -> None:
        write_shift(self.gateway.shift_file, seconds)
        self.pause(1.0, 3.0)
        write_shift(self.gateway.shift_file, 0.0)

    def fill_disk(self) -> None:
        """Files cannot grow beyond a size that the log of the database soon has."""
        self._limit_files(self.chance.choice((32_768, 131_072)))

    def refuse_writes(self) -> None:
        """No file can be written."""
        self._limit_files(0)

    def _limit_files(self, largest: int) -> None:
        _, hard = resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (largest, hard))
        self.pause(0.5, 4.0)
        self._wait_for_refusal()
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (hard, hard))

    def _wait_for_refusal(self) -> None:
        """Wait until an order met the fault. On a busy machine this can take longer than the fault lasts."""
        end = time.monotonic() + RECOVERED_WITHIN
        while not any(client.refused for client in self.clients) and time.monotonic() < end:
            time.sleep(0.05)

    def freeze_database(self) -> None:
        assert self.server is not None
        self.server.pause()
        self.pause(3.0, 6.0)
        self.server.resume()

    def kill_database(self) -> None:
        assert self.server is not None
        self.server.kill()
        self.pause(0.1, 2.0)
        self.server.start_again()

    def restart_database(self) -> None:
        assert self.server is not None
        self.server.end()
        self.pause(0.1, 2.0)
        self.server.start_again()

    def pause(self, least: float, most: float) -> None:
        time.sleep(self.chance.uniform(least, most))

    # rounds

    def run_one(self, fault: str | None = None) -> None:
        """Send orders, let one fault come and go, wait until the gateway is well, and check the plugs."""
        faults = self.list_faults()
        name = fault or self.chance.choice(sorted(faults))
        log_before = self.log_size
        with self._clients() as clients:
            self.clients = clients
            self._wait_for_orders(clients, CLIENTS)
            faults[name]()
            self._wait_until_well(name)
            # An order without an answer ends by its deadline. Later nothing changes by itself.
            time.sleep(DEADLINE + 1.0)
        self.met[name] += 1
        self.acknowledged += sum(client.acknowledged for client in clients)
        for client in clients:
            self.refused += client.refused
        if name != "process frozen":
            slowest = max(client.slowest for client in clients)
            self.slowest = max(self.slowest, slowest)
            assert slowest < ANSWERED_WITHIN, f"{name}: an answer took {slowest:.1f} s"
        written = self.log_size - log_before
        assert written < MOST_LOG, f"{name}: {written} bytes of log"
        seen = self._ask(lambda: all_plugs(self.served))
        for room in self.rooms:
            room.reconcile(seen)

    @property
    def log_size(self) -> int:
        return (self.gateway.directory / "gateway.log").stat().st_size

    @contextmanager
    def _clients(self) -> Iterator[list[PatientClient]]:
        address, token = urlsplit(self.gateway.base_url).netloc, self.served.people[OWNER].access_token
        clients = [
            PatientClient(address, KEY, token, self.rooms[number::CLIENTS], random.Random(self.chance.random()))
            for number in range(CLIENTS)
        ]
        with running_in_threads(clients):
            yield clients

    def _wait_for_orders(self, clients: Sequence[PatientClient], least: int) -> None:
        end = time.monotonic() + RECOVERED_WITHIN
        while sum(client.acknowledged for client in clients) < least:
            assert time.monotonic() < end, f"the gateway acknowledges nothing\n{self.tail_of_log}"
            time.sleep(0.01)

    def _wait_until_well(self, name: str) -> None:
        end = time.monotonic() + RECOVERED_WITHIN
        while not is_ready(self.gateway.port):
            assert self.process.poll() is None, f"{name}: the gateway ended with {self.process.poll()}\n{self.tail_of_log}"
            assert time.monotonic() < end, f"{name}: the gateway is not ready again\n{self.tail_of_log}"
            time.sleep(0.05)

    def _ask(self, ask: Callable[[], dict[str, list[bool]]]) -> dict[str, list[bool]]:
        """The first questions may still fail: a plant is attached again after a fault."""
        end = time.monotonic() + RECOVERED_WITHIN
        while True:
            try:
                return ask()
            except AssertionError:
                assert time.monotonic() < end, f"plugs cannot be read\n{self.tail_of_log}"
                time.sleep(0.2)

    @property
    def tail_of_log(self) -> str:
        return self.served.log[-3000:]

    # the journal of the clients, compared with what the gateway told others

    def check_all(self) -> None:
        """Every acknowledged order has its event in the stream and at the webhooks, and no plug turned without an order."""
        self._compare("stream", lambda: (event for kind, event in list(self.stream.events) if kind == "state"))
        self._compare("webhooks", lambda: (got.json for got in list(self.receiver.got)))
        if self.server is None:
            check_database(self.gateway.database)

    def _compare(self, what: str, list_events: Callable[[], Iterable[dict[str, Any]]]) -> None:
        end = time.monotonic() + RECOVERED_WITHIN
        while True:
            turns = count_turns(list_events())
            missing = [name for name, plug in self._plugs() if turns[name] < plug.turned]
            if not missing:
                break
            assert time.monotonic() < end, f"{what}: {len(missing)} plugs have fewer events than acknowledged orders"
            time.sleep(0.1)
        for name, plug in self._plugs():
            most = plug.turned + plug.perhaps_turned
            assert turns[name] <= most, f"{what}: plug {name} turned {turns[name]} times, after at most {most} orders"

    def _plugs(self) -> list[tuple[str, Plug]]:
        return [(name, plug) for room in self.rooms for name, plug in room.plugs.items()]

    @property
    def summary(self) -> str:
        met = ", ".join(f"{number} x {name}" for name, number in sorted(self.met.items()))
        refused = ", ".join(f"{number} x {status}" for status, number in sorted(self.refused.items())) or "none"
        return f"{met}; {self.acknowledged} orders acknowledged; refused: {refused}; slowest answer {self.slowest:.1f} s"


def count_turns(events: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """The number of changes of each plug, by events in the order of their ids. All plugs were off at the start."""
    ordered = sorted({int(event["id"]): event for event in events}.items())
    turns: Counter[str] = Counter()
    last: dict[str, bool] = {}
    for _, event in ordered:
        data = event.get("data") or {}
        state = data.get("state") or {}
        if "moduleId" in data and "on" in state:
            turns[data["moduleId"]] += last.get(data["moduleId"], False) is not state["on"]
            last[data["moduleId"]] = state["on"]
    return turns


@contextmanager
def open_fault_rounds(directory: Path, seed: int, *, postgres: bool) -> Iterator[FaultRounds]:
    """A new gateway on SQLite or PostgreSQL, ready for its first round."""
    if not postgres:
        with _open(directory, seed, None, {}) as rounds:
            yield rounds
        return
    with postgres_server() as server, _open(directory, seed, server, server.settings_for_a_gateway()) as rounds:
        try:
            yield rounds
        finally:
            server.resume()


@contextmanager
def _open(directory: Path, seed: int, server: PostgresServer | None, more: Mapping[str, str]) -> Iterator[FaultRounds]:
    directory.mkdir(parents=True, exist_ok=True)
    gateway = ShiftedGateway(directory, {**SETTINGS, **more})
    write_shift(gateway.shift_file, 0.0)
    import_estate(plug_estate(), directory, gateway.data, gateway.environment)
    served = gateway.start()
    receiver = ThreadedReceiver()
    try:
        gateway.known = {name: add_credentials(served, KEY).ready[name] for name in ("subscription_key", "users")}
        rooms = rooms_of(EstateView(plug_estate()).plants, all_plugs(served))
        _register(served, receiver)
        stream = EventClient(gateway.base_url, KEY, served.people[OWNER].access_token, last_id=None)
        with stream:
            while not stream.connections:
                time.sleep(0.02)
            chance = random.Random(seed)
            yield FaultRounds(gateway, served, server, rooms, chance, stream, receiver)
    finally:
        with suppress(ProcessLookupError):
            os.kill(served.process.pid, signal.SIGCONT)
        kill(served.process)
        served.stop()
        receiver.close()


def _register(gateway: Gateway, receiver: ThreadedReceiver) -> None:
    """One webhook for each plant."""
    headers = {KEY_HEADER: KEY, "Authorization": f"Bearer {gateway.people[OWNER].id_token}"}
    for plant in EstateView(plug_estate()).plants:
        body = {"plantId": plant.id, "url": f"{receiver.url}/{plant.id}"}
        made = gateway.api.http.post("/webhooks", json=body, headers=headers)
        assert made.status_code == 201, made.text
