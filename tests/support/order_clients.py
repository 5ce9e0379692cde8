"""Clients that switch plugs without pause and remember the acknowledged orders.

Each room belongs to one client, so its last order is well defined. An order always toggles the room, so a lost order is
visible.
"""

import http.client
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urlsplit

from support.estate_view import PlantView
from support.http import KEY_HEADER
from support.spec_operations import E1

_BODIES = {True: b'{"status": "on"}', False: b'{"status": "off"}'}
_PATIENCE = 60


@dataclass
class Plug:
    """The expected state of a plug, from answers only."""

    on: bool
    turned: int = 0
    """The number of acknowledged orders that toggled it."""
    perhaps_turned: int = 0
    """The number of orders without an answer that may have toggled it."""


@dataclass
class Room:
    """An ambient, its plugs, and its order that has no answer yet."""

    plant: str
    id: str
    plugs: dict[str, Plug]
    asked: bool | None = None

    def ask(self) -> bool:
        self.asked = not next(iter(self.plugs.values())).on
        return self.asked

    def acknowledge(self) -> None:
        assert self.asked is not None
        for plug in self.plugs.values():
            plug.turned += plug.on is not self.asked
            plug.on = self.asked
        self.asked = None

    def reconcile(self, seen: Mapping[str, list[bool]]) -> None:
        """After a crash every plug has the state of its last acknowledged order or of the unanswered one."""
        for name, plug in self.plugs.items():
            now = seen[name]
            if self.asked is None or plug.on is self.asked:
                assert now == [plug.on], f"an acknowledged order is lost: plug {name} is {now}, told {plug.on}"
            else:
                assert now in ([plug.on], [self.asked]), f"plug {name} is {now}"
                plug.perhaps_turned += 1
                plug.on = now[0]
        self.asked = None


def rooms_of(plants: Sequence[PlantView], seen: Mapping[str, list[bool]]) -> list[Room]:
    """All rooms with plugs, with their current states."""
    return [
        Room(plant.id, str(room["id"]), {str(m["id"]): Plug(seen[m["id"]][0]) for m in room["modules"] if m["kind"] == "plug"})
        for plant in plants
        for room in plant.plug_ambients
    ]


@dataclass
class Client:
    """One connection that sends orders to its own rooms, one at a time."""

    address: str
    key: str
    token: str
    rooms: Sequence[Room]
    chance: random.Random
    acknowledged: int = 0
    refused: list[str] = field(default_factory=list)

    def run(self, stop: threading.Event) -> None:
        connection = http.client.HTTPConnection(self.address, timeout=_PATIENCE)
        headers = {KEY_HEADER: self.key, "Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        try:
            while not stop.is_set():
                room = self.chance.choice(self.rooms)
                url = E1.url({"plant": room.plant, "ambient": room.id})
                connection.request("POST", url, _BODIES[room.ask()], headers)
                answer = connection.getresponse()
                text = answer.read()
                if answer.status != 200:
                    self.refused.append(f"{answer.status} {text.decode(errors='replace')}")
                    return
                room.acknowledge()
                self.acknowledged += 1
        except (OSError, http.client.HTTPException):
            return  # the gateway was killed; the order has no answer
        finally:
            connection.close()


class Worker(Protocol):
    def run(self, stop: threading.Event) -> None: ...


@contextmanager
def running_in_threads(workers: Sequence[Worker]) -> Iterator[None]:
    """The workers run during the block. At its end all have stopped."""
    stop = threading.Event()
    threads = [threading.Thread(target=worker.run, args=(stop,), daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(_PATIENCE + 30)
    assert not any(thread.is_alive() for thread in threads), "a client did not stop"


@contextmanager
def sending_orders(
    base_url: str, key: str, token: str, rooms: Sequence[Room], clients: int, chance: random.Random
) -> Iterator[list[Client]]:
    """Clients that send orders during the block. At its end all have stopped, and no order was refused."""
    address = urlsplit(base_url).netloc
    workers = [Client(address, key, token, rooms[number::clients], random.Random(chance.random())) for number in range(clients)]
    with running_in_threads(workers):
        yield workers
    refusals = [refusal for worker in workers for refusal in worker.refused]
    assert not refusals, f"an order was refused: {refusals[0]}"


def wait_for_orders(clients: Sequence[Client], least: int) -> None:
    """Wait until at least `least` orders were acknowledged. `sending_orders` reports a refusal."""
    give_up = time.monotonic() + _PATIENCE
    while sum(client.acknowledged for client in clients) < least and not any(client.refused for client in clients):
        assert time.monotonic() < give_up, "the gateway acknowledges nothing"
        time.sleep(0.005)


@dataclass
class PatientClient:
    """Sends orders to its own rooms, one at a time. A room whose order had no good answer rests until the next check."""

    address: str
    key: str
    token: str
    rooms: Sequence[Room]
    chance: random.Random
    acknowledged: int = 0
    refused: Counter[int] = field(default_factory=Counter)
    slowest: float = 0.0

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            ready = [room for room in self.rooms if room.asked is None]
            if not ready:
                stop.wait(0.05)
                continue
            begun = time.monotonic()
            with suppress(OSError, http.client.HTTPException):
                self._order(self.chance.choice(ready))
                self.slowest = max(self.slowest, time.monotonic() - begun)

    def _order(self, room: Room) -> None:
        connection = http.client.HTTPConnection(self.address, timeout=_PATIENCE)
        headers = {KEY_HEADER: self.key, "Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        try:
            connection.request("POST", E1.url({"plant": room.plant, "ambient": room.id}), _BODIES[room.ask()], headers)
            answer = connection.getresponse()
            answer.read()
        finally:
            connection.close()
        if answer.status == 200:
            room.acknowledge()
            self.acknowledged += 1
        else:
            self.refused[answer.status] += 1
