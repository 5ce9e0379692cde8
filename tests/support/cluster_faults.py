"""Faults of the gateways and servers of a cluster. Each lasts some seconds. Several may run at the same time."""

import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg

from support.cluster import Cluster, Member
from support.cluster_witness import ClusterWitness
from support.restartable import is_ready
from support.shifted_gateway import write_shift

SHIFTED = 5.0
FREEZES = (1.0, 20.0)
"""The shortest and the longest freeze, in seconds."""
RECOVERED_WITHIN = 240.0
_TWO_AT_ONCE = 0.3
"""The probability that a second fault begins at the same time."""


def shift_file(member: Member) -> Path:
    return member.folder / "clock-shift"


class ClusterFaults:
    """Lets faults come and go. No gateway has two faults of its own at the same time."""

    def __init__(
        self, cluster: Cluster, witness: ClusterWitness, chance: random.Random, freezes: tuple[float, float] = FREEZES
    ) -> None:
        self._cluster = cluster
        self._witness = witness
        self._chance = chance
        self._freezes = freezes
        self._busy: set[Member] = set()
        self._choosing = threading.Lock()
        self._at_once = 0
        self.known: dict[str, Callable[[], None]] = {
            "gateway killed": lambda: self._end_one("killed", Member.kill),
            "gateway stopped": lambda: self._end_one("stopped", Member.terminate),
            "gateway frozen": self._freeze,
            "NATS gone": self._stop_nats,
            "gateway without NATS": lambda: self._cut(database=False),
            "gateway without servers": lambda: self._cut(database=True),
            "PostgreSQL restarted": self._restart_postgres,
            "clock shifted": self._shift_clock,
        }
        self.moved_after: dict[str, list[float]] = defaultdict(list)
        """The seconds until other gateways held all plants of a gateway, for each kind of its end."""
        self.ready_after: list[float] = []
        """The seconds until all gateways were ready after PostgreSQL came back."""

    def choose_names(self) -> Sequence[str]:
        return self._chance.sample(sorted(self.known), 2 if self._chance.random() < _TWO_AT_ONCE else 1)

    def run(self, names: Sequence[str]) -> None:
        """Run these faults at the same time, and wait until all gateways are ready."""
        self._at_once = len(names)
        with ThreadPoolExecutor(len(names)) as threads:
            running = [threads.submit(self.known[name]) for name in names]
        for fault in running:
            fault.result()
        self._wait_until_ready()

    @contextmanager
    def _choose(self) -> Iterator[Member]:
        with self._choosing:
            member = self._chance.choice([member for member in self._cluster.members if member not in self._busy])
            self._busy.add(member)
        try:
            yield member
        finally:
            self._busy.discard(member)

    def _end_one(self, how: str, end: Callable[[Member], None]) -> None:
        with self._choose() as member:
            begun, held = time.monotonic(), self._find_plants_of(member)
            ending = threading.Thread(target=end, args=(member,))
            ending.start()
            if held and self._at_once == 1:
                while self._find_plants_of(member, or_nobody=True) & held:
                    assert time.monotonic() < begun + RECOVERED_WITHIN, (
                        f"plants of gateway {member.number} are not driven again"
                    )
                    time.sleep(0.1)  # each look is a new connection, for which the server starts a process
                self.moved_after[how].append(time.monotonic() - begun)
            ending.join()
            self._pause(0.0, 3.0)
            member.spawn("serve")

    def _find_plants_of(self, member: Member, *, or_nobody: bool = False) -> set[str]:
        """The plants that this gateway drives. `or_nobody`: also those that no gateway drives."""
        try:
            holders = self._witness.find_holders()
        except psycopg.OperationalError:
            return set()  # PostgreSQL is restarted at the same time.
        return {plant for plant, holder in holders.items() if holder == member.number or (holder is None and or_nobody)}

    def _freeze(self) -> None:
        with self._choose() as member:
            member.freeze()
            self._pause(*self._freezes)
            member.thaw()

    def _stop_nats(self) -> None:
        self._cluster.nats.stop()
        self._pause(0.5, 8.0)
        self._cluster.nats.start()

    def _cut(self, *, database: bool) -> None:
        with self._choose() as member:
            member.cut(database=database)
            self._pause(0.5, 12.0)
            member.heal()

    def _restart_postgres(self) -> None:
        """Half of the restarts are kills."""
        server = self._cluster.postgres
        self._chance.choice((server.end, server.kill))()
        self._pause(0.1, 3.0)
        server.start_again()
        if self._at_once == 1:
            begun = time.monotonic()
            self._wait_until_ready()
            self.ready_after.append(time.monotonic() - begun)

    def _shift_clock(self) -> None:
        with self._choose() as member:
            write_shift(shift_file(member), self._chance.choice((-SHIFTED, SHIFTED)))
            self._pause(2.0, 10.0)
            write_shift(shift_file(member), 0.0)

    def _pause(self, least: float, most: float) -> None:
        time.sleep(self._chance.uniform(least, most))

    def _wait_until_ready(self) -> None:
        end = time.monotonic() + RECOVERED_WITHIN
        for member in self._cluster.members:
            while not is_ready(member.port):
                log = member.log.read_text(errors="replace")[-4000:]
                assert member.process is not None
                assert member.process.poll() is None, f"gateway {member.number} ended\n{log}"
                assert time.monotonic() < end, f"gateway {member.number} is not ready again\n{log}"
                time.sleep(0.05)
