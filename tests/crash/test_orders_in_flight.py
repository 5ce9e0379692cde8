"""kill -9 with orders under way: no acknowledged order is lost, none is sent twice, each one ends."""

import http.client
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from support.estate_view import EstateView
from support.gateway import Gateway, import_estate
from support.http import KEY_HEADER
from support.journaled import JournaledGateway
from support.journaling_gateway import read_journal
from support.kill_rounds import SETTINGS, all_plugs, check_database, read_only
from support.order_clients import rooms_of, running_in_threads, sending_orders, wait_for_orders
from support.plug_estate import KEY, OWNER, plug_estate
from support.restartable import kill
from support.spec_operations import E5
from support.store_access import add_credentials

pytestmark = pytest.mark.slow

ROUNDS, MOST_ROUNDS = 3, 10
DEADLINE = 12.0
"""In seconds. No order may fail because the machine is busy."""
ENDS = {"confirmed", "failed", "expired", "unknown"}


def estate_with_scenes() -> dict[str, Any]:
    """The plugs, and in each plant a scene with its own lights. One light is switched twice, in a fixed sequence."""
    estate = plug_estate()
    for number, plant in enumerate(estate["plants"]):
        lights = [f"10000000-0000-4000-8000-{number:04x}0000000{light}" for light in range(3)]
        steps = [{"module": light, "do": "set light", "on": True} for light in lights]
        plant["modules"] = [
            *({"id": light, "name": "Lamp", "kind": "light", "state": {"on": False}} for light in lights),
            {
                "id": f"20000000-0000-4000-8000-{number:012x}",
                "name": "Scene",
                "kind": "scene",
                "steps": [*steps, {"module": lights[0], "do": "set light", "on": False}],
            },
        ]
    return estate


@dataclass
class SceneRunner:
    """Runs the scenes of one plant one after the other, and counts the answers."""

    address: str
    token: str
    plant: str
    scene: str
    lights: list[str]
    acknowledged: int = 0
    unanswered: int = 0
    refused: list[str] = field(default_factory=list)

    def run(self, stop: threading.Event) -> None:
        connection = http.client.HTTPConnection(self.address, timeout=60)
        headers = {KEY_HEADER: KEY, "Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        try:
            while not stop.is_set():
                self.unanswered += 1
                connection.request("POST", E5.url({"plant": self.plant, "module": self.scene}), b'{"status": "run"}', headers)
                answer = connection.getresponse()
                text = answer.read()
                self.unanswered -= 1
                if answer.status != 200:
                    self.refused.append(f"{answer.status} {text.decode(errors='replace')}")
                    return
                self.acknowledged += 1
        except (OSError, http.client.HTTPException):
            return  # the gateway was killed; the scene has no answer
        finally:
            connection.close()


@contextmanager
def running_scenes(runners: list[SceneRunner]) -> Iterator[None]:
    with running_in_threads(runners):
        yield
    assert [refusal for runner in runners for refusal in runner.refused] == []


def runners_of(estate: EstateView, gateway: Gateway) -> list[SceneRunner]:
    token = gateway.people[OWNER].token_for(E5)
    address = urlsplit(gateway.base_url).netloc
    return [
        SceneRunner(
            address,
            token,
            plant.id,
            str(plant.modules("scene")[0]["id"]),
            [str(light["id"]) for light in plant.modules("light")],
        )
        for plant in estate.plants
    ]


def kept_orders(database: Path) -> dict[str, dict[str, Any]]:
    with closing(read_only(database)) as connection:
        cursor = connection.execute("SELECT id, module_id, command, deadline, state, sent_at, ended_at FROM orders")
        names = [column[0] for column in cursor.description]
        return {row[0]: dict(zip(names, row, strict=True)) for row in cursor}


def open_orders(database: Path) -> list[dict[str, Any]]:
    return [order for order in kept_orders(database).values() if order["state"] not in ENDS]


def wait_until_a_scene_ended(restartable: JournaledGateway, first_lamps: set[str]) -> None:
    """A scene switches its first lamp on, and at the end off."""
    give_up = time.monotonic() + 120
    while True:
        kept, sent = kept_orders(restartable.database), {order for order, *_ in read_journal(restartable.journal)}
        if any(row["module_id"] in first_lamps and not json.loads(row["command"])["on"] for row in map(kept.get, sent) if row):
            return
        assert time.monotonic() < give_up, "no scene comes to its end"
        time.sleep(0.05)


def wait_until_all_ended(database: Path) -> dict[str, dict[str, Any]]:
    """Wait until the last deadline has passed and open orders are settled."""
    give_up = time.monotonic() + 120
    while True:
        unended = open_orders(database)
        if not unended:
            return kept_orders(database)
        assert time.monotonic() < give_up, f"never ended: {unended[:3]}"
        time.sleep(0.25)


class TestKillingWithOrdersInFlight:
    def test_loses_none_sends_none_twice_and_leaves_none_open(self, tmp_path: Path) -> None:
        settings = {**SETTINGS, "DOMOGATE_DEVICE_DEADLINE": str(DEADLINE)}
        restartable = JournaledGateway(tmp_path, settings)
        estate = estate_with_scenes()
        import_estate(estate, tmp_path, restartable.data, restartable.environment)
        gateway = restartable.start()
        chance = random.Random(20)
        try:
            restartable.known = {name: add_credentials(gateway, KEY).ready[name] for name in ("subscription_key", "users")}
            view = EstateView(estate)
            rooms = rooms_of(view.plants, all_plugs(gateway))
            runners = runners_of(view, restartable.connect(gateway.process))
            acknowledged = rounds = 0
            in_flight = False
            # A kill may find no order under way; then there is another kill.
            while rounds < ROUNDS or (not in_flight and rounds < MOST_ROUNDS):
                rounds += 1
                token = restartable.connect(gateway.process).people[OWNER].access_token
                with running_scenes(runners), sending_orders(restartable.base_url, KEY, token, rooms, 4, chance) as clients:
                    wait_for_orders(clients, 4)
                    wait_until_a_scene_ended(restartable, {runner.lights[0] for runner in runners})
                    time.sleep(chance.uniform(0, 0.3))
                    kill(gateway.process)
                in_flight = in_flight or bool(open_orders(restartable.database))
                acknowledged += sum(client.acknowledged for client in clients)
                gateway.stop()
                gateway = restartable.start()
                seen = all_plugs(gateway)
                for room in rooms:
                    room.reconcile(seen)
            kept = wait_until_all_ended(restartable.database)
        finally:
            gateway.stop()
        check_database(restartable.database)
        self.check(kept, restartable.journal, rooms, runners, acknowledged)

    def check(
        self, kept: dict[str, Any], journal: Path, rooms: list[Any], runners: list[SceneRunner], acknowledged: int
    ) -> None:
        sent = read_journal(journal)
        ids = [order for order, *_ in sent]
        assert max(Counter(ids).values()) == 1, "an order was sent twice"
        assert all(at < deadline for _, _, at, deadline in sent), "an order was sent after its deadline"
        assert set(ids) <= kept.keys(), "an order was sent that was not on disk"
        assert all(kept[order]["sent_at"] is not None for order in ids)

        states = Counter(order["state"] for order in kept.values())
        assert set(states) <= {"confirmed", "expired", "unknown"}, states
        assert states["confirmed"] > 0
        assert states["expired"] + states["unknown"] > 0, "nothing was in flight when the gateway was killed"
        assert {order for order, row in kept.items() if row["state"] == "confirmed"} <= set(ids)

        plugs = {plug for room in rooms for plug in room.plugs}
        confirmed = sum(row["state"] == "confirmed" for row in kept.values() if row["module_id"] in plugs)
        assert confirmed >= acknowledged * len(rooms[0].plugs), "an acknowledged command is lost"

        for runner in runners:
            of_light = Counter(row["module_id"] for row in kept.values() if row["module_id"] in runner.lights)
            for place, light in enumerate(runner.lights):
                of_scene = 2 if place == 0 else 1
                kept_scenes, rest = divmod(of_light[light], of_scene)
                assert rest == 0, "a part of a scene was kept"
                assert runner.acknowledged <= kept_scenes <= runner.acknowledged + runner.unanswered, "a scene is lost"
        self.check_order_of_steps(kept, ids, {runner.lights[0] for runner in runners})

    def check_order_of_steps(self, kept: dict[str, Any], ids: list[str], first_lamps: set[str]) -> None:
        """The first lamp of a scene is switched on, and three orders later off, even if another process sends them."""
        place = {order: number for number, order in enumerate(ids)}
        pairs = 0
        for order in ids:
            if kept[order]["module_id"] in first_lamps and not json.loads(kept[order]["command"])["on"]:
                process, number = order.split("-")
                earlier = f"{process}-{int(number) - 3}"
                assert json.loads(kept[earlier]["command"])["on"]
                assert place.get(earlier, -1) < place[order], "a lamp was switched off before it was switched on"
                pairs += 1
        assert pairs > 0
