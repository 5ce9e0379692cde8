"""`domogate replay --estate`: what an estate file gets from single answers, and what happens with bad recordings."""

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from domogate.recording.estate.document import SeenEstate, read_estate_of
from domogate.recording.exchanges import BadRecording, Exchange
from support.command_line import CommandLine

PLANT, ROOM = "0f6b8c1e-1111-4222-8333-444455556666", "0f6b8c1e-1111-4222-8333-00000000000a"
ONE, TWO, THREE = (f"0f6b8c1e-1111-4222-8333-00000000000{number}" for number in (1, 2, 3))
OWNER, MEMBER = (f"00000000-0000-4000-8000-00000000000{number}" for number in (1, 2))


def answer(path: str, body: Any, status: int = 200) -> Exchange:
    return Exchange("GET", f"/{path}", status, "application/json", body, is_empty=body is None)


def topology(*modules: dict[str, Any], room: tuple[dict[str, Any], ...] = ()) -> Exchange:
    rooms = [{"id": ROOM, "name": "Room", "modules": list(room)}] if room else []
    return answer(
        f"homeauto/v1.0/plants/{PLANT}/topology",
        {"plant": {"id": PLANT, "name": "Home", "type": "Office", "ambients": rooms, "modules": list(modules)}},
    )


def module(identity: str, device: str, **fields: Any) -> dict[str, Any]:
    return {"id": identity, "device": device, "name": "Thing", **fields}


def run_cli(*arguments: str) -> Result:
    return CommandLine(Path()).bare(*arguments)


def of_module(path: str, identity: str) -> str:
    return f"{path}/addressLocation/plants/{PLANT}/modules/parameter/id/value/{identity}"


def read(*exchanges: Exchange) -> SeenEstate:
    return read_estate_of(exchanges, lambda: "a-long-password")


def only_plant(*exchanges: Exchange) -> Any:
    (plant,) = read(*exchanges).lists["plants"]
    return plant


class TestPlants:
    def test_a_topology_alone_is_enough(self) -> None:
        seen = read(topology(module(ONE, "Light")))
        (plant,) = seen.lists["plants"]
        assert (plant["type"], plant["owner"], plant["driver"]) == ("office", "owner@example.com", "simulator")
        assert seen.lists["users"] == [{"email": "owner@example.com", "password": "a-long-password"}]
        assert "Owners: some plants show none. owner@example.com owns them." in seen.notes

    def test_people_keep_their_ids_and_one_address(self) -> None:
        lists = {"id": PLANT, "name": "Home", "type": "House", "ownerId": OWNER}
        people = {"allowedUsers": [{"id": MEMBER, "email": "user2@example.com"}], "invitedUsers": [{"email": "u3@example.com"}]}
        with_email = answer("doorentry-b/v1.0/plants", [{**lists, **people, "ownerEmail": "user1@example.com"}])
        without = answer("homeauto/v1.0/plants", {"plants": [{**lists, **people}]})
        plant = only_plant(with_email, without)
        assert (plant["owner"], plant["allowed"], plant["invited"]) == (
            "user1@example.com",
            ["user2@example.com"],
            ["u3@example.com"],
        )
        assert only_plant(without)["owner"] == "owner1@example.com"
        assert [user["id"] for user in read(without).lists["users"]] == [OWNER, MEMBER]

    def test_the_newest_list_says_who_may_use_a_plant(self) -> None:
        listed = {"id": PLANT, "ownerId": OWNER, "allowedUsers": [{"id": MEMBER, "email": "user2@example.com"}]}
        old = answer("doorentry-b/v1.0/plants", [{**listed, "ownerEmail": "user1@example.com"}])
        new = answer("homeauto/v1.0/plants", {"plants": [{**listed, "ownerId": MEMBER, "allowedUsers": []}]})
        plant = only_plant(old, new)
        assert (plant["owner"], plant.get("allowed")) == ("user2@example.com", None)

    @pytest.mark.parametrize(
        "people",
        [
            {"ownerEmail": "user1@example.com"},
            {"ownerEmail": ""},
            {"ownerId": OWNER, "ownerEmail": "user1@example.com", "allowedUsers": [{"email": "user2@example.com"}]},
        ],
    )
    def test_people_without_an_id_are_users(self, people: dict[str, Any], tmp_path: Path) -> None:
        plants = {"plants": [{"id": PLANT, "name": "Home", "type": "House", **people}]}
        (plant,) = (seen := read(answer("homeauto/v1.0/plants", plants))).lists["plants"]
        assert {user["email"] for user in seen.lists["users"]} == {plant["owner"], *plant.get("allowed", ())}
        file, out = tmp_path / "home.jsonl", tmp_path / "home.yaml"
        file.write_text(json.dumps({"method": "GET", "target": "/homeauto/v1.0/plants", "status": 200, "body": plants}))
        done = run_cli("replay", str(file), "--estate", str(out))
        assert done.exit_code == 0, done.stderr

    def test_the_newest_status_of_a_plant_counts(self) -> None:
        active, removed, without = (
            answer("homeauto/v1.0/plants", {"plants": [{"id": PLANT, **status}]})
            for status in ({"status": "Active"}, {"status": "Removed"}, {})
        )
        assert only_plant(removed, active)["status"] == "active"
        assert only_plant(active, removed, without)["status"] == "removed"

    def test_two_lists_of_a_room_are_merged_in_their_order(self) -> None:
        first = topology(room=(module(ONE, "Light"), module(THREE, "Scene")))
        digits = {"plant": PLANT.replace("-", ""), "room": ROOM.replace("-", "")}
        modules = [module(ONE.replace("-", ""), "light", hw_type="x"), module(TWO.replace("-", ""), "plug", hw_type="y")]
        second = answer(
            f"homectl/api/v1.0/plants/{digits['plant']}/topology",
            {"plant": {"id": digits["plant"], "modules": [], "ambients": [{"id": digits["room"], "modules": modules}]}},
        )
        (room,) = only_plant(first, second)["ambients"]
        assert [one["id"] for one in room["modules"]] == [ONE, TWO, THREE]
        assert [one.get("hwType") for one in room["modules"]] == ["x", "y", None]

    def test_a_plug_of_multisocket_is_told_apart_from_a_multisocket(self) -> None:
        plugs = answer(
            f"multisocket/plug/energy/addressLocation/plants/{PLANT}",
            {"plugs": [{"id": ONE, "name": "A", "status": [True]}, {"id": TWO, "name": "B", "status": [True, False]}]},
        )
        modules = only_plant(plugs)["modules"]
        assert [(one["kind"], one["state"]) for one in modules] == [
            ("plug", {"on": True}),
            ("multisocket", {"sockets": [True, False]}),
        ]

    @pytest.mark.parametrize("order", list(permutations(range(3))))
    def test_the_order_of_the_answers_does_not_change_the_kind_of_a_module(self, order: tuple[int, ...]) -> None:
        one_socket = {"id": ONE, "name": "A", "status": [True]}
        plugs = [one_socket, {"id": TWO, "name": "B", "status": [False]}, {"id": THREE, "name": "C", "status": [True]}]
        exchanges = [
            topology(module(TWO, "Plug")),
            answer(f"multisocket/plug/energy/addressLocation/plants/{PLANT}", {"plugs": plugs}),
            answer(
                f"{of_module('homectl/api/v1.0/plug/energy', THREE)}/consumptions",
                {"consumptions": [{"unit": "watt", "value": 7}]},
            ),
        ]
        modules = only_plant(*(exchanges[number] for number in order))["modules"]
        assert {one["id"]: (one["kind"], one["state"]) for one in modules} == {
            ONE: ("multisocket", {"sockets": [True]}),
            TWO: ("plug", {"on": False}),
            THREE: ("plug", {"on": True, "power": 7}),
        }
        assert {one["id"]: one["name"] for one in modules}[THREE] == "C"


class TestStates:
    def test_the_newest_state_of_a_light_counts(self) -> None:
        path = of_module("homeauto/v1.0/light/lighting", ONE)
        old = answer(path, {"lights": [{"status": "off", "level": 0}]})
        new = answer(path, {"lights": [{"status": "on", "level": 40, "colorHSV": {"H": 1, "S": 2, "V": 3}}]})
        (light,) = only_plant(topology(module(ONE, "Light")), old, new)["modules"]
        assert light["state"] == {"on": True, "level": 40, "color": {"hue": 1, "saturation": 2, "value": 3}}

    def test_a_module_that_no_topology_shows_comes_from_its_state(self) -> None:
        path = of_module("homeauto/v1.0/light/lighting", ONE)
        (light,) = only_plant(answer(path, {"lights": [{"status": "off"}]}))["modules"]
        assert light == {"id": ONE, "name": "Light", "kind": "light", "state": {"on": False}}

    def test_a_light_is_offline_if_its_newest_read_got_no_state(self) -> None:
        path = of_module("homeauto/v1.0/light/lighting", ONE)
        missing, found = answer(path, {"statusCode": 404}, status=404), answer(path, {"lights": [{"status": "on"}]})
        (light,) = only_plant(topology(module(ONE, "Light")), found, missing)["modules"]
        assert (light["reachable"], light["options"]) == (False, {"simulate": "offline"})
        assert light["state"] == {"on": True}
        (light,) = only_plant(topology(module(ONE, "Light")), missing, found)["modules"]
        assert "reachable" not in light

    def test_a_read_of_another_kind_of_module_does_not_make_a_light_offline(self) -> None:
        path = f"{of_module('homectl/api/v1.0/plug/energy', ONE)}/consumptions"
        (light,) = only_plant(topology(module(ONE, "Light")), answer(path, None, status=404))["modules"]
        assert "reachable" not in light

    def test_a_remote_is_offline_if_its_newest_read_says_so(self) -> None:
        path = of_module("homectl/api/v1.0/remote/remote", ONE)
        gone, back = (answer(path, {"remotes": [{"battery": "full", "reachable": value}]}) for value in (False, True))
        missing = answer(path, None, status=404)
        for first in (gone, missing):
            (remote,) = only_plant(first, back)["modules"]
            assert "reachable" not in remote
            (remote,) = only_plant(back, first)["modules"]
            assert remote["options"] == {"simulate": "offline"}

    def test_a_list_of_programs_does_not_show_that_a_thermostat_can_be_reached(self) -> None:
        path = of_module("thermostat/v2.0/chronothermostat/thermoregulation", ONE)
        programs = answer(f"{path}/programlist", {"chronothermostats": [{"programs": [{"number": 1}]}]})
        (thermostat,) = only_plant(answer(path, None, status=404), programs)["modules"]
        assert thermostat["options"] == {"simulate": "offline"}

    def test_a_thermostat_in_fahrenheit(self) -> None:
        path = of_module("thermostat/v2.0/chronothermostat/thermoregulation", ONE)
        state = {
            "function": "heating",
            "mode": "automatic",
            "setPoint": {"value": "68", "unit": "F"},
            "programs": [{"number": 3}],
            "time": "2026-01-02T03:04:05+01:00",
            "activationTime": "2026-01-02T09:00:00",
            "temperatureFormat": "F",
            "thermometer": {"measures": [{"timeStamp": "2026-01-02T03:04:00+01:00", "value": "70.5", "unit": "F"}]},
        }
        thermostat = only_plant(topology(module(ONE, "chronothermostat")), answer(path, {"chronothermostats": [state]}))[
            "modules"
        ][0]
        assert thermostat["programs"] == [{"number": 3, "name": "Program 3"}]
        assert thermostat["state"] == {
            "function": "heating",
            "mode": "automatic",
            "setPoint": 20.0,
            "utcOffset": "+01:00",
            "program": 3,
            "activationTime": "2026-01-02T09:00:00+01:00",
            "scale": "F",
            "temperature": {"value": 70.5, "at": "2026-01-02T03:04:00+01:00", "unit": "F"},
        }

    def test_missing_states_steps_and_unknown_devices_are_named(self) -> None:
        notes = read(topology(module(ONE, "Light"), module(TWO, "Scene"), module(THREE, "rocket\n# x"))).notes
        assert notes[:3] == [
            "State of 1 modules of kind light: it was not recorded. The simulator chooses it.",
            "Steps of 1 scenes: the contract does not show them. The scenes do nothing.",
            r"Modules of 1 unknown kinds: 'rocket\n# x'.",
        ]


class TestBadRecordings:
    def test_an_answer_of_another_form_is_named_and_not_used(self) -> None:
        odd = answer(of_module("homeauto/v1.0/light/lighting", ONE), {"lights": [{"status": 7}]})
        seen = read(topology(module(ONE, "Light")), odd)
        assert "state" not in seen.lists["plants"][0]["modules"][0]
        assert any(
            "1 answers that do not have the form of the contract" in one and "$.lights[0].status" in one for one in seen.notes
        )

    @pytest.mark.parametrize(
        "exchanges", [[], [answer("homeauto/v1.0/plants", None, status=204)], [answer("homeauto/v1.0/plants", [[]])]]
    )
    def test_a_recording_without_a_plant_is_refused(self, exchanges: list[Exchange]) -> None:
        with pytest.raises(BadRecording, match="shows no plant"):
            read(*exchanges)

    def test_the_number_of_modules_is_bounded(self) -> None:
        many = [module(f"0f6b8c1e-1111-4222-8333-{number:012}", "Light") for number in range(20_001)]
        with pytest.raises(BadRecording, match="more than 20000 modules"):
            read(topology(*many))


class TestCommand:
    @pytest.mark.parametrize(
        ("modules", "says"),
        [
            ([module(PLANT, "Light")], "is already used by plants"),
            ([module(ONE, "Light", metrics=[{"label": "a", "metricType": "Words"}])], "'Words'"),
        ],
    )
    def test_contradictions_are_refused_and_nothing_is_written(
        self, modules: list[dict[str, Any]], says: str, tmp_path: Path
    ) -> None:
        file, out = tmp_path / "home.jsonl", tmp_path / "home.yaml"
        exchange = topology(*modules)
        file.write_text(json.dumps({"method": "GET", "target": exchange.target, "status": 200, "body": exchange.body}))
        done = run_cli("replay", str(file), "--estate", str(out))
        assert done.exit_code == 1
        assert "does not make a correct estate file. Nothing was written." in done.stderr
        assert says in done.stderr
        assert not out.exists()

    def test_a_file_is_replaced_only_with_force(self, tmp_path: Path) -> None:
        file, out = tmp_path / "home.jsonl", tmp_path / "home.yaml"
        out.write_text("precious")
        exchange = topology(module(ONE, "Light"))
        file.write_text(json.dumps({"method": "GET", "target": exchange.target, "status": 200, "body": exchange.body}))
        assert "--force" in run_cli("replay", str(file), "--estate", str(out)).stderr
        assert out.read_text() == "precious"
        done = run_cli("replay", str(file), "--estate", str(out), "--force")
        assert (done.exit_code, "1 plants, 1 modules, 1 users" in done.stderr) == (0, True)
        assert run_cli("estate", "check", str(out)).exit_code == 0
