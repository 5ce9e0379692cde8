"""kill -9 during commands, any number of times: no acknowledged command is lost, the database is intact.

The tests do a few rounds, the soak hundreds; both call `KillRounds.run_one`.
"""

import json
import random
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from support.estate_view import EstateView
from support.gateway import Gateway, import_estate
from support.order_clients import Room, rooms_of, sending_orders, wait_for_orders
from support.plug_estate import KEY, OWNER, plug_estate
from support.restartable import RestartableGateway, clean_environment, kill
from support.spec_operations import E16
from support.store_access import add_credentials

CLIENTS = 6
LONGEST = 0.45
"""The longest time between the start of the clients and the kill, in seconds."""
KILLS_WHILE_STARTING = 0.1
"""The probability that the start after a kill is killed too."""

# The tokens must be valid for the longest soak. Devices change regularly, so that their reports share commits with orders.
SETTINGS = {
    "DOMOGATE_ACCESS_TOKEN_LIFETIME": "86400",
    "DOMOGATE_ID_TOKEN_LIFETIME": "86400",
    "DOMOGATE_SIMULATOR_TICK": "0.5",
}


def check_database(path: Path) -> int:
    """Check that SQLite finds no damage, references hold, and no cursor is missing. Returns the newest cursor."""
    with closing(read_only(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        count, first, newest = connection.execute("SELECT count(*), min(cursor), max(cursor) FROM changes").fetchone()
    assert count == newest - first + 1, f"{count} changes from {first} to {newest}: there are gaps"
    return int(newest)


def read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=30)


def turns_in_history(path: Path) -> dict[str, int]:
    """The number of times that each plug was toggled, according to the changes. All plugs were off at the start."""
    turns: dict[str, int] = {}
    last: dict[str, bool] = {}
    with closing(read_only(path)) as connection:
        for (text,) in connection.execute("SELECT event FROM changes ORDER BY cursor"):
            event = json.loads(text)
            state = event.get("state") or {}
            if event["was"] == "state" and state.get("of") == "plug":
                plug = event["module_id"]
                turns[plug] = turns.get(plug, 0) + (last.get(plug, False) is not state["on"])
                last[plug] = state["on"]
    return turns


@dataclass
class KillRounds:
    """A gateway that is killed repeatedly, and the answers that its clients got."""

    restartable: RestartableGateway
    rooms: list[Room]
    chance: random.Random
    gateway: Gateway
    newest: int
    done: int = 0
    acknowledged: int = 0
    cut_off: int = 0
    """Orders that had no answer when the gateway was killed."""
    killed_while_starting: int = 0

    def run_one(self, before_kill: Callable[[], None] = lambda: None) -> None:
        """Send orders, kill, restart, and check everything."""
        person = self.gateway.people[OWNER]
        with sending_orders(self.restartable.base_url, KEY, person.access_token, self.rooms, CLIENTS, self.chance) as clients:
            wait_for_orders(clients, CLIENTS)
            time.sleep(self.chance.uniform(0, LONGEST))
            before_kill()
            kill(self.gateway.process)
        self.acknowledged += sum(client.acknowledged for client in clients)
        self.cut_off += sum(room.asked is not None for room in self.rooms)
        self.gateway.stop()
        if self.chance.random() < KILLS_WHILE_STARTING:
            self._kill_while_starting()
        self.gateway = self.restartable.start()
        self._check()
        self.done += 1

    def _kill_while_starting(self) -> None:
        """The recovery may be killed too."""
        process = self.restartable.spawn()
        time.sleep(self.chance.uniform(0.2, 1.0))
        kill(process)
        self.killed_while_starting += 1

    def _check(self) -> None:
        seen = all_plugs(self.gateway)
        for room in self.rooms:
            room.reconcile(seen)
        newest = check_database(self.restartable.database)
        assert newest >= self.newest, f"the cursor went back from {self.newest} to {newest}"
        self.newest = newest

    def check_history(self) -> None:
        """Every acknowledged order has its change, and no plug was toggled without an order."""
        turns = turns_in_history(self.restartable.database)
        for room in self.rooms:
            for name, plug in room.plugs.items():
                counted = turns.get(name, 0)
                assert plug.turned <= counted <= plug.turned + plug.perhaps_turned, (
                    f"plug {name} was turned {plug.turned} times, perhaps {plug.perhaps_turned} more; the changes say {counted}"
                )

    @property
    def summary(self) -> str:
        starts = self.restartable.start_times
        return (
            f"{self.done} kills ({self.killed_while_starting} more while starting), {self.acknowledged} orders acknowledged, "
            f"{self.cut_off} cut off; ready again after {median(starts):.2f} s (median), {max(starts):.2f} s (longest)"
        )


def all_plugs(gateway: Gateway) -> dict[str, list[bool]]:
    """The state of every plug of the estate, by E16."""
    seen: dict[str, list[bool]] = {}
    for plant in EstateView(plug_estate()).plants:
        answer = gateway.send(E16, {"plant": plant.id}, who=OWNER)
        assert answer.status_code == 200, answer.text
        seen |= {plug["id"]: plug["status"] for plug in answer.json()["plugs"]}
    return seen


@contextmanager
def open_kill_rounds(directory: Path, seed: int, settings: Mapping[str, str] | None = None) -> Iterator[KillRounds]:
    """A new gateway with an estate of plugs, ready for its first round. `settings` are added to the usual ones."""
    restartable = RestartableGateway(directory, clean_environment({**SETTINGS, **(settings or {})}))
    import_estate(plug_estate(), directory, restartable.data, restartable.environment)
    gateway = restartable.start()
    try:
        restartable.known = {name: add_credentials(gateway, KEY).ready[name] for name in ("subscription_key", "users")}
        rooms = rooms_of(EstateView(plug_estate()).plants, all_plugs(gateway))
        rounds = KillRounds(restartable, rooms, random.Random(seed), gateway, check_database(restartable.database))
    except BaseException:
        gateway.stop()
        raise
    try:
        yield rounds
    finally:
        rounds.gateway.stop()
