"""Faults of the gateways and servers of a cluster while clients of all gateways work, any number of times.

At the end the checker gets everything that was recorded. The tests do a few rounds, the soak runs for minutes; both call
`ClusterRounds.run_one`.
"""

import asyncio
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from domogate.settings import Settings
from support import witnessed_gateway
from support.cluster import Cluster
from support.cluster_clients import OrderClient, Reader, Rights, send
from support.cluster_estate import ALL_LIGHTS, APP, KEY, LIGHTS_OF, PLANT_IDS, Owner, issue_rights, light_estate
from support.cluster_faults import FREEZES, RECOVERED_WITHIN, ClusterFaults, shift_file
from support.cluster_history import CONFIRMED, History, Listener, check_history
from support.cluster_witness import ClusterWitness
from support.event_client import EventClient
from support.gateway import import_estate
from support.http import KEY_HEADER
from support.journaling_gateway import JOURNAL
from support.order_clients import running_in_threads
from support.postgres import postgres_server
from support.receivers import ThreadedReceiver
from support.restartable import clean_environment
from support.shifted_gateway import SHIFT, write_shift

CLIENTS = 6
SETTLED_WITHIN = 180.0
SETTINGS = {
    "DOMOGATE_ACCESS_TOKEN_LIFETIME": "86400",
    "DOMOGATE_ID_TOKEN_LIFETIME": "86400",
    # Requests wait longer than it takes until another gateway drives a plant.
    "DOMOGATE_DEVICE_DEADLINE": "15",
    "DOMOGATE_WEBHOOK_NETWORKS": "127.0.0.0/8",
    "DOMOGATE_SIMULATOR_TICK": "3600",
    "DOMOGATE_DRAIN": "1",
}


@dataclass
class ClusterRounds:
    """A cluster with clients, streams, webhooks, and the faults that it meets."""

    witness: ClusterWitness
    clients: list[OrderClient]
    readers: list[Reader]
    rights: Rights
    streams: list[EventClient]
    receiver: ThreadedReceiver
    webhooks: dict[str, tuple[str, int]]
    """The plant and the first cursor of each webhook, by its path at the receiver."""
    journal: Path
    say: Callable[[str], None]
    faults: ClusterFaults
    met: Counter[str] = field(default_factory=Counter)

    def run_one(self, *names: str) -> None:
        """Let these faults come and go at the same time; without names, choose at random. Then the cluster works again."""
        chosen = names or self.faults.choose_names()
        self._wait_for_orders()
        self.faults.run(chosen)
        self._wait_for_orders()
        self.met[" and ".join(sorted(chosen))] += 1

    def _wait_for_orders(self) -> None:
        """Wait until some more orders are confirmed."""
        wanted, end = self._count_confirmed() + CLIENTS, time.monotonic() + RECOVERED_WITHIN
        while self._count_confirmed() < wanted:
            assert time.monotonic() < end, "the cluster confirms no orders"
            time.sleep(0.05)

    def _count_confirmed(self) -> int:
        return sum(request.outcome == CONFIRMED for client in self.clients for request in list(client.requests))

    @contextmanager
    def working(self) -> Iterator[None]:
        """The clients work in the block."""
        with running_in_threads([*self.clients, *self.readers, self.rights]):
            yield

    # the check at the end

    def check(self) -> None:
        """Wait until everything has ended and has arrived. Raises AssertionError if a rule is broken."""
        self._wait(lambda: self.witness.count_open_orders() == 0, "orders are still open")
        self._wait(lambda: not self._find_unarrived(), "events have not arrived")
        broken = check_history(self.record())
        assert not broken, "\n".join([f"{len(broken)} times a rule is broken:", *broken[:20]])

    def _wait(self, is_done: Callable[[], bool], problem: str) -> None:
        end = time.monotonic() + SETTLED_WITHIN
        while not is_done():
            if time.monotonic() > end:
                self.say(problem)  # The checker says which.
                return
            time.sleep(0.2)

    def _find_unarrived(self) -> bool:
        newest: dict[str, int] = {}
        for change in self.witness.read_changes():
            newest[change.module] = change.cursor
        listeners = [*self._read_streams(), *self._read_webhooks()]
        return any(
            (newest[module], module) not in set(listener.events)
            for listener in listeners
            for module in listener.modules & newest.keys()
            if newest[module] > listener.since
        )

    def record(self) -> History:
        return History(
            [request for client in self.clients for request in list(client.requests)],
            witnessed_gateway.read_device_orders(self.journal),
            self.witness.read_orders(),
            self.witness.read_changes(),
            self._read_streams(),
            self._read_webhooks(),
            dict(self.rights.withdrawn),
            [use for reader in self.readers for use in list(reader.uses)],
        )

    def _read_streams(self) -> list[Listener]:
        found = []
        for number, stream in enumerate(self.streams, 1):
            events = list(stream.events)
            since = next(int(data["cursor"]) for event, data in events if event == "ready")
            came = [_place_of(data) for event, data in events if event != "present" and "moduleId" in data.get("data", {})]
            found.append(Listener(f"stream of gateway {number}", ALL_LIGHTS, since, came))
        return found

    def _read_webhooks(self) -> list[Listener]:
        came: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for got in list(self.receiver.got):
            if "moduleId" in got.json["data"]:
                came[got.path].append(_place_of(got.json))
        return [
            Listener(f"webhook {path}", frozenset(LIGHTS_OF[plant]), since, came[path])
            for path, (plant, since) in self.webhooks.items()
        ]

    @property
    def summary(self) -> str:
        outcomes = Counter(request.outcome for client in self.clients for request in list(client.requests))
        uses, moved = sum(len(reader.uses) for reader in self.readers), self.faults.moved_after
        lines = [
            _count(self.met),
            f"requests: {_count(outcomes)}",
            f"{len(self.rights.withdrawn)} rights withdrawn, {uses} uses",
            f"{sum(len(stream.ids) for stream in self.streams)} events of streams, {len(self.receiver.got)} of webhooks",
            *(f"plants of a gateway that was {how} moved after {_spread(times)}" for how, times in moved.items()),
        ]
        if self.faults.ready_after:
            lines.append(f"ready after PostgreSQL came back: {_spread(self.faults.ready_after)}")
        return "; ".join(lines)


def _place_of(event: Mapping[str, Any]) -> tuple[int, str]:
    return int(event["id"]), str(event["data"]["moduleId"])


def _count(counted: Counter[str]) -> str:
    return ", ".join(f"{number} x {name}" for name, number in sorted(counted.items())) or "nothing"


def _spread(times: list[float]) -> str:
    return f"{median(times):.1f} s (median), {max(times):.1f} s (longest)"


@contextmanager
def open_cluster_rounds(
    folder: Path,
    seed: int,
    say: Callable[[str], None],
    *,
    shifts: Sequence[float] = (0.0, 0.0, 0.0),
    pause: float = 0.4,
    freezes: tuple[float, float] = FREEZES,
    rights: int = 120,
) -> Iterator[ClusterRounds]:
    """A new cluster, with streams and webhooks.

    `shifts`: the seconds by which the clock of each gateway is wrong at the start. `pause`: the seconds between two orders of a
    client, on average. `rights`: how many rights can be withdrawn.
    """
    folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(seed)
    with ExitStack() as stack:
        server = stack.enter_context(postgres_server())
        cluster = Cluster(folder, server, len(shifts), SETTINGS)
        environment = clean_environment(server.settings_for_a_command())
        import_estate(light_estate(), folder, folder / "data", environment)
        ports = {member.port: member.number for member in cluster.members}
        witness = ClusterWitness(server.socket, ports)
        witness.install(PLANT_IDS)
        journal = folder / "orders.journal"
        journal.touch()
        for member, shift in zip(cluster.members, shifts, strict=True):
            write_shift(shift_file(member), shift)
            member.module = witnessed_gateway.__name__
            member.environment |= {
                SHIFT: str(shift_file(member)), JOURNAL: str(journal), witnessed_gateway.NUMBER: str(member.number),
            }  # fmt: skip
        stack.callback(cluster.stop)
        cluster.start("serve")
        settings = Settings(
            data=folder / "data",
            public_url=cluster.base_url,
            database=environment["DOMOGATE_DATABASE"],
            secret_key=environment["DOMOGATE_SECRET_KEY"],
        )
        owner = asyncio.run(issue_rights(settings, rights))
        urls = [member.base_url for member in cluster.members]
        receiver = ThreadedReceiver()
        stack.callback(receiver.close)
        webhooks = dict(_register(urls[0], owner, receiver))
        streams = [stack.enter_context(EventClient(url, KEY, owner.access_token)) for url in urls]
        while not all(any(event == "ready" for event, _ in list(stream.events)) for stream in streams):
            time.sleep(0.05)
        lights = [(plant, light) for plant in PLANT_IDS for light in LIGHTS_OF[plant]]
        clients = [
            OrderClient(f"c{number}", urls, owner.access_token, owner.user_id, lights[number::CLIENTS], _fork(chance), pause)
            for number in range(CLIENTS)
        ]
        withdrawal = Rights(urls, APP, owner.rights, _fork(chance))
        readers = [Reader(url, number, withdrawal) for number, url in enumerate(urls, 1)]
        faults = ClusterFaults(cluster, witness, chance, freezes)
        yield ClusterRounds(witness, clients, readers, withdrawal, streams, receiver, webhooks, journal, say, faults)


def _fork(chance: random.Random) -> random.Random:
    return random.Random(chance.random())


def _register(url: str, owner: Owner, receiver: ThreadedReceiver) -> Iterator[tuple[str, tuple[str, int]]]:
    """Register one webhook for each plant."""
    for number, plant in enumerate(PLANT_IDS):
        body = {"plantId": plant, "url": f"{receiver.url}/{number}"}
        status, made = send(url, "POST", "/webhooks", owner.id_token, body, {KEY_HEADER: KEY})
        assert status == 201, made
        yield f"/{number}", (plant, int(made["lastCursor"]))
