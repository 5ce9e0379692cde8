"""A backup is taken while many orders are sent. It restores the state of one point in time during the backup."""

import json
import random
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from support.gateway import Gateway, running, start
from support.http import expect_ok
from support.kill_rounds import check_database, read_only
from support.order_clients import Room, rooms_of, sending_orders, wait_for_orders
from support.restartable import RestartableGateway, clean_environment
from support.spec_operations import E1, E4, E16, OPERATIONS, Operation, Target

pytestmark = pytest.mark.slow

# Devices do not change by themselves: a difference comes from an order or from lost data.
STILL = {"DOMOGATE_SIMULATOR_TICK": "3600", "DOMOGATE_STATE_MAX_AGE": "3600"}
CLIENTS = 4
MOST_BACKUPS = 10
# Per operation and plant; the hotel has hundreds of similar modules.
MOST_TARGETS = 12

# Parts of an answer that depend on the time or on a signature.
OF_THE_MOMENT = {"time", "timeStamp", "timestamp", "ticket", "lastStatusUpdate", "lastAlertUpdate"}


def lasting(body: Any) -> Any:
    if isinstance(body, dict):
        return {key: lasting(value) for key, value in body.items() if key not in OF_THE_MOMENT}
    return [lasting(item) for item in body] if isinstance(body, list) else body


def newest_cursor(database: Path) -> int:
    with closing(read_only(database)) as connection:
        return int(connection.execute("SELECT max(cursor) FROM changes").fetchone()[0])


def plugs_as_of(database: Path, cursor: int) -> dict[str, bool]:
    """The state of every plug that has changed, according to the changes so far."""
    plugs = {}
    with closing(read_only(database)) as connection:
        for (text,) in connection.execute("SELECT event FROM changes WHERE cursor <= ? ORDER BY cursor", (cursor,)):
            event = json.loads(text)
            if event["was"] == "state" and (event.get("state") or {}).get("of") == "plug":
                plugs[event["module_id"]] = event["state"]["on"]
    return plugs


def questions(gateway: Gateway, hammered: set[str]) -> Iterator[tuple[Operation, str, Target]]:
    """Every read operation, as everybody who may ask, about a good part of what there is.

    Not E4 of a plug that was being switched: what it draws was measured at another moment.
    """
    for operation in OPERATIONS:
        if operation.method == "GET":
            asked: dict[str, int] = {}
            for who, target in gateway.cases(operation):
                if operation is E4 and target["module"] in hammered:
                    continue
                plant = target.get("plant", "")
                asked[plant] = asked.get(plant, 0) + 1
                if asked[plant] <= MOST_TARGETS:
                    yield operation, who, target


def answers(gateway: Gateway, asked: list[tuple[Operation, str, Target]]) -> list[tuple[int, Any]]:
    """The answers of all requests. Each follows the specification."""
    collected = []
    for operation, who, target in asked:
        answer = gateway.send(operation, target, who=who)
        if answer.status_code == 200:
            expect_ok(operation, answer)
        collected.append((answer.status_code, lasting(answer.json()) if answer.content else None))
    return collected


def people_and_keys(database: Path) -> dict[str, list[Any]]:
    """All users, clients and keys, with the hashes of their secrets."""
    tables = ("users", "clients", "grants", "subscriptions", "signing_keys", "members", "invitations", "spare_parts")
    with closing(read_only(database)) as connection:
        return {table: sorted(connection.execute(f"SELECT * FROM {table}"), key=repr) for table in tables}


class TestBackupUnderWrites:
    def test_a_restored_backup_gives_the_answers_of_one_point_in_time(self, tmp_path: Path) -> None:
        restartable = RestartableGateway(tmp_path, clean_environment(STILL))
        with running(start("demo", tmp_path, STILL, port=restartable.port)) as demo:
            restartable.known = demo.ready
            database, backup = restartable.database, tmp_path / "backup.db"
            plant = max(demo.estate.find_plants(lambda plant: True), key=lambda plant: len(plant.plug_ambients))
            rooms = rooms_of([plant], demo.plug_states(plant))
            first, last = self.back_up_under_fire(demo, demo.a_person_of(plant), rooms, backup)
            asked = list(questions(demo, {plug for room in rooms for plug in room.plugs}))
            expected = answers(demo, asked)
            people = people_and_keys(database)
        backed_up = newest_cursor(backup)
        assert first <= backed_up <= last, "what was acknowledged before the backup began is missing, or it is from the future"
        then = plugs_as_of(database, backed_up)

        database.parent.rename(tmp_path / "original")
        database.parent.mkdir(mode=0o700)
        shutil.copy(tmp_path / "original" / "secret-key", database.parent)
        demo.domogate("restore", str(backup))
        check_database(database)
        assert people_and_keys(database) == people
        with running(restartable.start()) as copy:
            for question, was, now in zip(asked, expected, answers(copy, asked), strict=True):
                operation = question[0]
                if operation is E16:
                    was = (was[0], {"plugs": [self.as_of(then, plug) for plug in was[1]["plugs"]]})
                assert now == was, question
            # The restored gateway executes orders, for the same people with the same keys and tokens.
            room = rooms[0]
            target = {"plant": room.plant, "ambient": room.id}
            for on in (True, False):
                body = json.dumps({"status": "on" if on else "off"}).encode()
                assert copy.send(E1, target, who=demo.a_person_of(plant), body=body).status_code == 200
                seen = copy.plug_states(plant)
                assert {tuple(seen[name]) for name in room.plugs} == {(on,)}

    def back_up_under_fire(self, demo: Gateway, who: str, rooms: list[Room], backup: Path) -> tuple[int, int]:
        """The cursors before and after the backup. Orders must have been written meanwhile; else the test is void."""
        database = demo.data / "domogate.sqlite3"
        token = demo.people[who].access_token
        with sending_orders(demo.base_url, demo.subscription_key, token, rooms, CLIENTS, random.Random(4)) as clients:
            wait_for_orders(clients, CLIENTS)
            for _ in range(MOST_BACKUPS):
                backup.unlink(missing_ok=True)
                first = newest_cursor(database)
                demo.domogate("backup", str(backup))
                last = newest_cursor(database)
                if first < last:
                    return first, last
        raise AssertionError("nothing was ever written while a backup was taken")

    def as_of(self, then: dict[str, bool], plug: dict[str, Any]) -> dict[str, Any]:
        return {**plug, "status": [then[plug["id"]]]} if plug["id"] in then else plug
