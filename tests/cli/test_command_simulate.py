"""`domogate simulate`."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml

from domogate.cli.simulate import OPTION
from domogate.drivers.simulator.behaviour import Behaviour, behaviour_of
from support.command_line import CommandLine
from support.small_estate import LAMPS, LIGHT


def options_of(domogate: CommandLine, module_id: str) -> object:
    plant = yaml.safe_load(domogate.good("estate", "export"))["plants"][0]
    return next(module.get("options") for module in plant["modules"] if module["id"] == module_id)


class TestSimulate:
    @pytest.mark.parametrize("word", list(Behaviour))
    def test_the_simulator_understands_every_word(self, word: Behaviour) -> None:
        assert behaviour_of({OPTION: word.value}).value == word.value

    @pytest.mark.parametrize("named", [LIGHT, LIGHT.upper(), LIGHT.replace("-", ""), "Desk"])
    def test_a_module_is_named_by_id_in_either_spelling_or_by_name(self, small: CommandLine, named: str) -> None:
        small.good("simulate", named, "offline")
        assert options_of(small, LIGHT) == {"simulate": "offline"}
        small.good("simulate", named, "normal")
        assert not options_of(small, LIGHT)

    def test_a_name_that_several_modules_have_is_not_enough(self, small: CommandLine) -> None:
        said = small.refused("simulate", "Lamp", "slow")
        assert all(lamp in said for lamp in LAMPS)
        assert not any(options_of(small, lamp) for lamp in LAMPS)

    def test_an_unknown_module_or_word_is_refused(self, small: CommandLine) -> None:
        assert "module list" in small.refused("simulate", "Chandelier", "slow")
        assert small.run("simulate", LIGHT, "asleep").exit_code == 2

    def test_a_module_that_is_called_like_a_command_is_named_after_the_word_module(self, small: CommandLine) -> None:
        small.good("simulate", "module", "Desk", "slow")
        assert options_of(small, LIGHT) == {"simulate": "slow"}
        assert "no module 'day'" in small.refused("simulate", "module", "day", "slow")


PICTURE = Path(__file__).parents[2] / "docs" / "images" / "simulated-day.svg"


@pytest.fixture(scope="module")
def usual_day(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The values of a day. Simulating it takes a second."""
    return CommandLine(tmp_path_factory.mktemp("day")).bare("simulate", "day", "--csv").stdout


@pytest.mark.slow
class TestSimulateDay:
    def test_the_picture_in_the_documents_is_what_the_command_draws(self, domogate: CommandLine, tmp_path: Path) -> None:
        assert domogate.bare("simulate", "day", "--seed", "1", "--out", str(tmp_path / "day.svg")).exit_code == 0
        assert (tmp_path / "day.svg").read_text("utf-8") == PICTURE.read_text("utf-8")

    def test_the_picture_is_well_formed_and_says_what_it_shows(self) -> None:
        root = ET.fromstring(PICTURE.read_text("utf-8"))
        texts = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
        assert {"room", "set point", "load", "outdoors", "Inside (°C)", "00:00", "24:00"} <= texts

    def test_the_numbers_show_a_room_that_follows_its_program(self, usual_day: str) -> None:
        header, *rows = usual_day.splitlines()
        assert header == "time,room,set_point,load,outdoors"
        day = {
            time: (float(room), float(set_point), load) for time, room, set_point, load, _ in (row.split(",") for row in rows)
        }
        assert (rows[0][:5], rows[-1][:5], len(rows)) == ("00:00", "24:00", 289)
        assert [day[at][1] for at in ("05:55", "06:00", "08:25", "08:30", "17:00", "22:30")] == [
            16.5,
            20.5,
            20.5,
            18.5,
            20.5,
            16.5,
        ]
        assert day["08:25"][0] > day["06:00"][0] + 3, "the morning is heated"
        assert abs(day["20:00"][0] - 20.5) < 0.5, "the evening is kept"
        assert {load for _, _, load in day.values()} == {"on", "off"}

    def test_another_seed_or_date_is_another_day(self, domogate: CommandLine, usual_day: str) -> None:
        others = {
            domogate.bare("simulate", "day", "--csv", *flags).stdout for flags in (("--seed", "2"), ("--date", "2026-01-15"))
        }
        assert len(others | {usual_day}) == 3

    def test_what_is_no_date_is_refused(self, domogate: CommandLine) -> None:
        assert domogate.bare("simulate", "day", "--date", "tomorrow").exit_code == 2
