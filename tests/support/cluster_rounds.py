"""Faults of the gateways and servers of a cluster while clients of all gateways work, any number of times.

At the end the checker gets everything that was recorded. The tests do a few rounds, the soak runs for minutes; both call
`ClusterRounds.run_one`.
"""

import asyncio
import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from domogate.settings import Settings
from support import witnessed_gateway
from support.cluster import Cluster, Member
from support.cluster_clients import OrderClient, Reader, Rights, send
from support.cluster_estate import ALL_LIGHTS, APP, KEY, LIGHTS_OF, PLANT_IDS, Owner, issue_rights, light_estate
from support.cluster_history import History, Listener, check_history
from support.cluster_witness import ClusterWitness
from support.event_client import EventClient
from support.gateway import import_estate
from support.http import KEY_HEADER
from support.journaling_gateway import JOURNAL
from support.order_clients import running_in_threads
from support.postgres import postgres_server
from support.receivers import ThreadedReceiver
from support.restartable import clean_environment, is_ready
from support.shifted_gateway import SHIFT, write_shift

CLIENTS = 6
SHIFTED = 5.0
LONGEST_FREEZE = 20.0
RECOVERED_WITHIN = 120.0
SETTLED_WITHIN = 180.0
SETTINGS = {
    "DOMOGATE_ACCESS_TOKEN_LIFETIME": "86400",
    "DOMOGATE_ID_TOKEN_LIFETIME": "86400",
    # Requests wait longer than it takes until another gateway drives a plant.
    "DOMOGATE_DEVICE_DEADLINE": "15",
    "DOMOGATE_WEBHOOK_NETWORKS": "127.0.0.0/8",
    "DOMOGATE_SIMULATOR_TICK": "3600",
    "DOMOGATE_DRAIN": "3",
}


@dataclass
class ClusterRounds:
    """A cluster with clients, streams, webhooks, and the faults that it meets."""

    cluster: Cluster
    chance: random.Random
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
    met: Counter[str] = field(default_factory=Counter)
    moved_after: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """The seconds until other gateways held all plants of a gateway, for each kind of fault."""
    ready_after: list[float] = field(default_factory=list)
    """The seconds until all gateways were ready after PostgreSQL came back."""

    # faults

    def list_faults(self) -> dict[str, Callable[[], None]]:
        return {
            "gateway killed": lambda: self._end_one("killed", Member.kill),
            "gateway stopped": lambda: self._end_one("stopped", Member.terminate),
            "gateway frozen": self.freeze,
            "NATS gone": self.stop_nats,
            "gateway without NATS": lambda: self.cut(database=False),
            "gateway without servers": lambda: self.cut(database=True),
            "PostgreSQL restarted": lambda: self.restart_postgres(0.1, 3.0),
            "clock shifted": self.shift_clock,
        }

    def choose(self) -> Member:
        return self.chance.choice(self.cluster.members)

    def _end_one(self, how: str, end: Callable[[Member], None]) -> None:
        member = self.choose()
        held = {plant for plant, gateway in self.witness.find_holders().items() if gateway == member.number}
        begun = time.monotonic()
        ending = threading.Thread(target=end, args=(member,))
        ending.start()
        while any(self.witness.find_holders().get(plant, member.number) == member.number for plant in held):
            assert time.monotonic() < begun + RECOVERED_WITHIN, f"the plants of gateway {member.number} are not driven again"
            time.sleep(0.02)
        if held:
            self.moved_after[how].append(time.monotonic() - begun)
        ending.join()
        self.pause(0.0, 3.0)
        member.spawn("serve")

    def freeze(self) -> None:
        member = self.choose()
        member.freeze()
        self.pause(1.0, LONGEST_FREEZE)
        member.thaw()

    def stop_nats(self) -> None:
        self.cluster.nats.stop()
        self.pause(0.5, 8.0)
        self.cluster.nats.start()

    def cut(self, *, database: bool) -> None:
        member = self.choose()
        member.cut(database=database)
        self.pause(0.5, 12.0)
        member.heal()

    def restart_postgres(self, least: float, most: float) -> None:
        """Half of the restarts are kills."""
        self.chance.choice((self.cluster.postgres.end, self.cluster.postgres.kill))()
        self.pause(least, most)
        self.cluster.postgres.start_again()
        begun = time.monotonic()
        self.wait_until_ready("PostgreSQL restarted")
        self.ready_after.append(time.monotonic() - begun)

    def shift_clock(self) -> None:
        member = self.choose()
        write_shift(shift_file(member), self.chance.choice((-SHIFTED, SHIFTED)))
        self.pause(2.0, 10.0)
        write_shift(shift_file(member), 0.0)

    def pause(self, least: float, most: float) -> None:
        time.sleep(self.chance.uniform(least, most))

    # rounds

    def run_one(self, fault: str | None = None) -> None:
        """Let one fault come and go, and wait until all gateways are ready."""
        faults = self.list_faults()
        name = fault or self.chance.choice(sorted(faults))
        faults[name]()
        self.wait_until_ready(name)
        self.pause(0.5, 3.0)
        self.met[name] += 1

    def wait_until_ready(self, name: str) -> None:
        end = time.monotonic() + RECOVERED_WITHIN
        for member in self.cluster.members:
            while not is_ready(member.port):
                log = member.log.read_text(errors="replace")[-4000:]
                assert member.process is not None
                assert member.process.poll() is None, f"{name}: gateway {member.number} ended\n{log}"
                assert time.monotonic() < end, f"{name}: gateway {member.number} is not ready again\n{log}"
                time.sleep(0.05)

    @contextmanager
    def working(self) -> Iterator[None]:
        """The clients work in the block."""
        with running_in_threads([*self.clients, *self.readers, self.rights]):
            yield

    # the check at the end

    def check(self) -> None:
        """Wait until everything has ended and has arrived. Then raise AssertionError if a rule is broken."""
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
        uses = sum(len(reader.uses) for reader in self.readers)
        lines = [
            _count(self.met),
            f"requests: {_count(outcomes)}",
            f"{len(self.rights.withdrawn)} rights withdrawn, {uses} uses",
            f"{sum(len(stream.ids) for stream in self.streams)} events of streams, {len(self.receiver.got)} of webhooks",
            *(f"plants of a gateway that was {how} moved after {_spread(times)}" for how, times in self.moved_after.items()),
        ]
        if self.ready_after:
            lines.append(f"ready after PostgreSQL came back: {_spread(self.ready_after)}")
        return "; ".join(lines)


def _place_of(event: Mapping[str, Any]) -> tuple[int, str]:
    return int(event["id"]), str(event["data"]["moduleId"])


def _count(counted: Counter[str]) -> str:
    return ", ".join(f"{number} x {name}" for name, number in sorted(counted.items())) or "nothing"


def _spread(times: list[float]) -> str:
    return f"{median(times):.1f} s (median), {max(times):.1f} s (longest)"


def shift_file(member: Member) -> Path:
    return member.folder / "clock-shift"


@contextmanager
def open_cluster_rounds(
    folder: Path, seed: int, say: Callable[[str], None], *, gateways: int = 3, pause: float = 0.4
) -> Iterator[ClusterRounds]:
    """A new cluster, with streams and webhooks. `pause`: the seconds between two orders of a client, on average."""
    folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(seed)
    with ExitStack() as stack:
        server = stack.enter_context(postgres_server())
        cluster = Cluster(folder, server, gateways, SETTINGS)
        environment = clean_environment(server.settings_for_a_command())
        import_estate(light_estate(), folder, folder / "data", environment)
        ports = {member.port: member.number for member in cluster.members}
        witness = ClusterWitness(server.socket, ports)
        witness.install(PLANT_IDS)
        journal = folder / "orders.journal"
        journal.touch()
        for member in cluster.members:
            write_shift(shift_file(member), 0.0)
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
        owner = asyncio.run(issue_rights(settings))
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
        rights = Rights(urls, APP, owner.rights, _fork(chance))
        readers = [Reader(url, number, rights) for number, url in enumerate(urls, 1)]
        yield ClusterRounds(cluster, chance, witness, clients, readers, rights, streams, receiver, webhooks, journal, say)


def _fork(chance: random.Random) -> random.Random:
    return random.Random(chance.random())


def _register(url: str, owner: Owner, receiver: ThreadedReceiver) -> Iterator[tuple[str, tuple[str, int]]]:
    """Register one webhook for each plant."""
    for number, plant in enumerate(PLANT_IDS):
        body = {"plantId": plant, "url": f"{receiver.url}/{number}"}
        status, made = send(url, "POST", "/webhooks", owner.id_token, body, {KEY_HEADER: KEY})
        assert status == 201, made
        yield f"/{number}", (plant, int(made["lastCursor"]))
