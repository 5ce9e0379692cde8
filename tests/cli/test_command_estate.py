"""`domogate estate …`."""

import json
import os
import pty
import re
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlalchemy import Connection

from domogate.app import estate_files
from domogate.cli._scaffold import MODULES
from domogate.domain.estate import Estate
from domogate.stores import SqlStore
from support import processes
from support.command_line import CommandLine
from support.small_estate import EMAIL, INVITED, SMALL_ESTATE


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "estate.yaml"
    path.write_text(SMALL_ESTATE)
    return path


def spoil(file: Path, old: str, new: str) -> None:
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


class TestEstateCheck:
    def test_a_good_file_is_good(self, domogate: CommandLine, file: Path) -> None:
        assert domogate.bare("estate", "check", str(file)).exit_code == 0
        assert json.loads(domogate.bare("estate", "check", str(file), "--json").stdout) == {"good": True, "mistakes": []}

    def test_every_mistake_is_told_with_its_line(self, domogate: CommandLine, file: Path) -> None:
        spoil(file, "type: house", "type: castle")
        spoil(file, "kind: light", "kind: lihgt")
        result = domogate.bare("estate", "check", str(file))
        assert result.exit_code == 1
        assert "castle" in result.stderr
        assert "lihgt" in result.stderr
        assert f"{file}:11:" in result.stderr

    def test_json_tells_line_path_and_what_is_allowed(self, domogate: CommandLine, file: Path) -> None:
        spoil(file, "type: house", "type: castle")
        result = domogate.bare("estate", "check", str(file), "--json")
        (mistake,) = json.loads(result.stdout)["mistakes"]
        assert result.exit_code == 1
        assert (mistake["line"], mistake["path"]) == (11, "plants[0].type")
        assert "hospital" in mistake["allowed"]

    def test_a_driver_that_is_not_there_is_a_mistake(self, domogate: CommandLine, file: Path) -> None:
        spoil(file, "name: Desk, kind: light", "name: Desk, kind: light, driver: telepathy")
        result = domogate.bare("estate", "check", str(file))
        assert result.exit_code == 1
        assert "telepathy" in result.stderr
        assert "simulator" in result.stderr

    def test_brokers_are_compared_with_the_settings(self, domogate: CommandLine, tmp_path: Path) -> None:
        config = tmp_path / "domogate.toml"
        config.write_text('[[mqtt_brokers]]\nname = "house"\nurl = "mqtt://broker.lan"\n')
        lamp = "{id: ca5a0001-0001-4000-8000-000000000001, name: L, kind: light, driver: mqtt, options: OPTIONS}"
        lamp = lamp.replace("OPTIONS", "{dialect: tasmota, topic: l, broker: NAME}")
        text = (
            "users: [{email: anna@example.com}]\nplants:\n- id: ca5a0001-0000-4000-8000-000000000000\n  name: Casa\n"
            f"  type: house\n  owner: anna@example.com\n  modules:\n  - {lamp}\n"
        )
        for command in ("check", "import"):
            wrong = ("estate", command, "-", "--config", str(config))
            told = domogate.bare(*wrong, *self._data(domogate, command), input=text.replace("NAME", "hose"))
            assert (told.exit_code, told.stdout) == (1, "")
            assert "standard input:8:" in told.stderr
            assert "the settings have no broker 'hose'; there are house" in told.stderr
            right = domogate.bare(*wrong, *self._data(domogate, command), input=text.replace("NAME", "house"))
            assert right.exit_code == 0, right.output

    @staticmethod
    def _data(domogate: CommandLine, command: str) -> tuple[str, ...]:
        return ("--data", str(domogate.data)) if command == "import" else ()

    def test_standard_input_is_a_file(self, domogate: CommandLine) -> None:
        assert domogate.bare("estate", "check", "-", input=SMALL_ESTATE).exit_code == 0
        assert "standard input:1" in domogate.bare("estate", "check", "-", input="users: 7").stderr

    def test_a_file_that_cannot_be_read_is_said_plainly(self, domogate: CommandLine, tmp_path: Path) -> None:
        result = domogate.bare("estate", "check", str(tmp_path / "gone.yaml"))
        assert result.exit_code == 1
        assert "gone.yaml" in result.stderr
        (tmp_path / "latin.yaml").write_bytes("users: [{email: é}]".encode("latin-1"))
        assert "UTF-8" in domogate.bare("estate", "check", str(tmp_path / "latin.yaml")).stderr


NEW_HOTEL = ("--name", "Hotel Aurora", "--type", "hotel", "--owner", "anna@example.com", "--floors", "3", "--rooms", "12")


class TestEstateNew:
    def test_a_hotel_has_floors_rooms_and_ids_and_can_be_imported(self, domogate: CommandLine, tmp_path: Path) -> None:
        file = tmp_path / "hotel.yaml"
        assert domogate.bare("estate", "new", str(file), *NEW_HOTEL).exit_code == 0
        (plant,) = yaml.safe_load(file.read_text())["plants"]
        rooms = [room for floor in plant["floors"] for room in floor["ambients"]]
        assert [floor["name"] for floor in plant["floors"]] == ["Floor 1", "Floor 2", "Floor 3"]
        assert (rooms[0]["name"], rooms[-1]["name"], len(rooms)) == ("Room 101", "Room 312", 36)
        assert len({plant["id"], *(one["id"] for one in (*plant["floors"], *rooms))}) == 40
        assert domogate.bare("estate", "check", str(file)).exit_code == 0
        domogate.good("estate", "import", str(file))
        assert domogate.read("plant", "show", "Hotel Aurora")["owner"] == "anna@example.com"

    def test_a_file_is_replaced_only_by_force(self, domogate: CommandLine, tmp_path: Path) -> None:
        file = tmp_path / "hotel.yaml"
        file.write_text("mine")
        assert "--force" in domogate.bare("estate", "new", str(file), *NEW_HOTEL).stderr
        assert file.read_text() == "mine"
        assert domogate.bare("estate", "new", str(file), *NEW_HOTEL, "--force").exit_code == 0

    def test_the_driver_is_that_of_the_plant(self, domogate: CommandLine) -> None:
        text = domogate.bare("estate", "new", *NEW_HOTEL, "--driver", "mqtt").stdout
        (plant,) = yaml.safe_load(text)["plants"]
        assert plant["driver"] == "mqtt"
        assert "modules" not in plant["floors"][0]["ambients"][0]

    def test_it_says_how_many_rooms_there_are(self, domogate: CommandLine) -> None:
        said = domogate.bare("estate", "new", *NEW_HOTEL).stderr
        assert said == "Floors: 3, rooms: 36 (12 on each floor), simulated modules: 0.\n"

    @pytest.mark.parametrize(
        ("flags", "names"),
        [
            (("--driver", "simulator"), {"Lamp 101", "Thermostat 101"}),
            (("--modules", "light, light,plug"), {"Lamp 101 1", "Lamp 101 2", "Plug 101"}),
            (("--modules", ",".join(MODULES)), {"Lamp 101", "Plug 101", "Shutter 101", "Thermostat 101", "Heater 101"}),
        ],
    )
    def test_each_room_has_simulated_modules_for_trying(
        self, domogate: CommandLine, tmp_path: Path, flags: tuple[str, ...], names: set[str]
    ) -> None:
        file = tmp_path / "hotel.yaml"
        said = domogate.bare("estate", "new", str(file), *NEW_HOTEL, *flags).stderr
        assert f"simulated modules: {36 * len(names)}." in said
        domogate.good("estate", "import", str(file))
        modules = domogate.read("module", "list", "Hotel Aurora")
        assert len(modules) == 36 * len(names)
        assert {one["name"] for one in modules if " 101" in one["name"]} == names
        assert {one["driver"] for one in modules} == {"simulator"}

    @pytest.mark.parametrize(
        ("flags", "words"),
        [
            (NEW_HOTEL[2:], "--name"),
            ((), "--name, --type, --owner, --floors, --rooms"),
            ((*NEW_HOTEL, "--owner", "anna"), "anna"),
            ((*NEW_HOTEL, "--owner", "anna"), "--owner: 'anna' is not an e-mail address"),
            ((*NEW_HOTEL, "--name", ""), "--name: a name has 1 to"),
            ((*NEW_HOTEL, "--driver", "telepathy"), "telepathy"),
            ((*NEW_HOTEL, "--modules", "light,toaster"), "--modules: 'toaster' is not a module; there are light, plug"),
            ((*NEW_HOTEL, "--modules", ""), "--modules: '' is not a module"),
            ((*NEW_HOTEL, "--modules", "light", "--driver", "mqtt"), "leave out --driver mqtt"),
            ((*NEW_HOTEL, "--floors", "0"), "--floors"),
            ((*NEW_HOTEL, "--rooms", "1000"), "99"),
            ((*NEW_HOTEL, "--type", "castle"), "castle"),
        ],
    )
    def test_what_is_missing_or_wrong_is_said(self, domogate: CommandLine, flags: tuple[str, ...], words: str) -> None:
        result = domogate.bare("estate", "new", *flags)
        assert (result.exit_code, result.stdout) == (2, "")
        assert words in result.stderr


class TestEstateImport:
    def test_it_says_what_it_did(self, domogate: CommandLine, file: Path) -> None:
        added = domogate.read("estate", "import", str(file))["added"]
        assert (added["users"], added["plants"], added["modules"]) == (2, 1, 3)
        assert domogate.run("estate", "import", str(file)).exit_code == 0

    def test_one_object_is_told_in_the_singular(self, domogate: CommandLine, file: Path) -> None:
        said = domogate.run("estate", "import", str(file)).stderr
        assert "2 users" in said
        assert "1 plant," in said

    def test_a_file_with_mistakes_changes_nothing(self, domogate: CommandLine, file: Path) -> None:
        spoil(file, "type: house", "type: castle")
        domogate.create()
        assert "castle" in domogate.refused("estate", "import", str(file))
        assert domogate.read("user", "list") == []

    def test_a_file_that_contradicts_the_store_changes_nothing(self, domogate: CommandLine, file: Path) -> None:
        domogate.good("estate", "import", str(file))
        users = domogate.read("user", "list")
        (ada,) = (user["id"] for user in users if user["email"] == EMAIL)
        file.write_text(f"users: [{{email: {INVITED}, id: {ada}}}]\n")
        assert domogate.refused("estate", "import", str(file)) == (
            "domogate: Nothing was imported, because the file contradicts the store: "
            f"two users would have the e-mail {INVITED}.\n"
        )
        assert domogate.read("user", "list") == users

    def test_passwords_are_kept(self, domogate: CommandLine, file: Path) -> None:
        domogate.good("estate", "import", str(file))
        before = yaml.safe_load(domogate.good("estate", "export"))["users"][0]["passwordHash"]
        spoil(file, "correct horse", "battery staple")
        domogate.good("estate", "import", str(file))
        assert yaml.safe_load(domogate.good("estate", "export"))["users"][0]["passwordHash"] == before

    def test_what_is_gone_from_the_file_stays_unless_pruned(self, domogate: CommandLine, file: Path) -> None:
        domogate.good("estate", "import", str(file))
        file.write_text(f"users: [{{email: {EMAIL}, name: Ada}}]\n")
        domogate.good("estate", "import", str(file))
        assert len(domogate.read("user", "list")) == 2
        removed = domogate.read("estate", "import", str(file), "--prune")["removed"]
        assert (removed["users"], removed["plants"]) == (1, 1)
        assert [user["email"] for user in domogate.read("user", "list")] == [EMAIL]


class TestEstateExport:
    def test_it_imports_into_the_same(self, domogate: CommandLine, file: Path, tmp_path: Path) -> None:
        domogate.good("estate", "import", str(file))
        exported = domogate.good("estate", "export")
        other = CommandLine(tmp_path / "other")
        other.good("estate", "import", "-", input=exported)
        assert other.good("estate", "export") == exported

    def test_it_tells_no_secret_in_clear(self, domogate: CommandLine, file: Path) -> None:
        domogate.good("estate", "import", str(file))
        exported = domogate.good("estate", "export")
        assert "correct horse" not in exported
        assert "small-key-0123456789" not in exported

    def test_a_file_is_for_its_owner_only_and_is_not_overwritten_unasked(
        self, domogate: CommandLine, file: Path, tmp_path: Path
    ) -> None:
        domogate.good("estate", "import", str(file))
        target = tmp_path / "export.yaml"
        domogate.good("estate", "export", str(target))
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
        target.write_text("mine")
        assert "--force" in domogate.refused("estate", "export", str(target))
        assert target.read_text() == "mine"
        domogate.good("estate", "export", str(target), "--force")
        assert EMAIL in target.read_text()


class TestEstateSchema:
    def test_it_is_a_schema(self, domogate: CommandLine) -> None:
        assert json.loads(domogate.bare("estate", "schema").stdout)["title"] == "Estate file"


class TestLargeEstates:
    def test_an_export_of_thousands_of_modules_is_imported_by_another_gateway(
        self, domogate: CommandLine, file: Path, tmp_path: Path
    ) -> None:
        lamps = "".join(
            f"      - {{id: ca5a0002-0001-4000-8000-{n:012x}, name: Lamp {n}, kind: light}}\n" for n in range(2_100)
        )
        file.write_text(SMALL_ESTATE + lamps)
        added = domogate.read("estate", "import", str(file))["added"]
        assert added["modules"] == 2_103
        exported = tmp_path / "exported.yaml"
        domogate.good("estate", "export", str(exported))
        again = domogate.read("estate", "import", str(exported))
        assert not any([*again["added"].values(), *again["updated"].values(), *again["removed"].values()])
        other = domogate.bare("estate", "import", str(exported), "--json", "--data", str(tmp_path / "other"))
        assert json.loads(other.stdout)["added"]["modules"] == 2_103

        domogate.good("estate", "export", str(tmp_path / "again.yaml"), "--data", str(tmp_path / "other"))
        assert (tmp_path / "again.yaml").read_bytes() == exported.read_bytes()

    def test_a_small_file_prunes_a_large_store(self, domogate: CommandLine, file: Path) -> None:
        domogate.good("estate", "import", str(file))
        before = domogate.good("estate", "export")
        lamps = "".join(
            f"      - {{id: ca5a0002-0001-4000-8000-{n:012x}, name: Lamp {n}, kind: light}}\n" for n in range(2_100)
        )
        file.write_text(SMALL_ESTATE + lamps)
        domogate.good("estate", "import", str(file))
        file.write_text(SMALL_ESTATE)
        summary = domogate.read("estate", "import", str(file), "--prune")
        assert {noun: count for noun, count in summary["removed"].items() if count} == {"modules": 2_100}
        assert domogate.good("estate", "export") == before

    def test_nothing_of_a_large_file_with_a_mistake_at_its_end_is_imported(self, domogate: CommandLine, file: Path) -> None:
        domogate.good("estate", "import", str(file))
        lamps = "".join(
            f"      - {{id: ca5a0002-0001-4000-8000-{n:012x}, name: Lamp {n}, kind: light}}\n" for n in range(2_100)
        )
        file.write_text(f"{SMALL_ESTATE}{lamps}  - {{id: ca5a0002-0000-4000-8000-000000000000, name: x}}\n")
        assert "nothing was imported" in domogate.refused("estate", "import", str(file))
        assert "Lamp 2000" not in domogate.good("estate", "export")

    def test_they_are_imported_in_several_transactions(
        self, domogate: CommandLine, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        commits: list[Connection] = []

        real = SqlStore.commit

        def commit(store: SqlStore, connection: Connection, *writes: Any, **options: Any) -> None:
            commits.append(connection)
            real(store, connection, *writes, **options)

        monkeypatch.setattr(SqlStore, "commit", commit)
        domogate.good("estate", "import", str(file))
        at_once = len(commits)
        monkeypatch.setattr(estate_files, "AT_ONCE", 2)
        CommandLine(tmp_path / "other").good("estate", "import", str(file))
        assert len(commits) == 2 * at_once + 1, "one for the people and one for the plant"

    def test_a_file_with_too_many_modules_for_the_history_is_not_printed_for_it(
        self, domogate: CommandLine, file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        modules = file.read_text().count("kind: ")
        printed: list[Estate] = []

        def print_nothing(people: Estate, _plants: object) -> list[str]:
            printed.append(people)
            return []

        monkeypatch.setattr(estate_files, "print_in_parts", print_nothing)
        for longest in (36 * modules, 36 * modules - 1):
            monkeypatch.setattr(estate_files, "_LONGEST_KEPT", longest)
            domogate.good("estate", "import", str(file))
        assert modules > 0
        assert len(printed) == 1

    @pytest.mark.slow
    def test_a_terminal_shows_the_progress_and_a_file_does_not(self, file: Path, tmp_path: Path) -> None:
        command = ["estate", "import", str(file), "--data", str(tmp_path / "data")]
        terminal, inside = pty.openpty()
        with (tmp_path / "output").open("wb") as output, os.fdopen(inside, "wb") as screen:
            assert processes.launch(command, os.environ, output, screen).wait(60) == 0
            shown = os.read(terminal, 100_000)
        os.close(terminal)
        assert re.search(rb"Importing .*100%", shown, re.DOTALL)
        again = processes.run(command, os.environ, 60)
        assert again.returncode == 0
        assert "Importing" not in again.stderr

    def test_users_may_follow_the_plants_on_standard_input(self, domogate: CommandLine) -> None:
        document = yaml.safe_load(SMALL_ESTATE)
        text = yaml.safe_dump({"plants": document.pop("plants"), **document}, sort_keys=False)
        domogate.good("estate", "import", "-", input=text)
        assert EMAIL in domogate.good("estate", "export")
