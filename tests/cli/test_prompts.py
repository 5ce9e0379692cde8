"""Commands that ask, on a real terminal."""

from pathlib import Path

import pytest
import yaml

from support.terminal import END_OF_INPUT, Terminal

pytestmark = pytest.mark.slow


class TestEstateNew:
    def test_it_asks_for_each_value_and_asks_again_after_a_wrong_answer(self, tmp_path: Path) -> None:
        file = tmp_path / "hotel.yaml"
        with Terminal("estate", "new", str(file)) as terminal:
            terminal.answer("Name of the plant: ", "Hotel Aurora")
            terminal.answer("Type (hotel, house, office, hospital): ", "castle")
            terminal.answer("Type (hotel, house, office, hospital): ", " Hotel ")
            terminal.answer("E-mail address of the owner: ", "anna")
            terminal.answer("E-mail address of the owner: ", "anna@example.com")
            terminal.answer("Number of floors (1 to 100): ", "two")
            terminal.answer("Number of floors (1 to 100): ", "0")
            terminal.answer("Number of floors (1 to 100): ", "2")
            terminal.answer("Number of rooms on each floor (1 to 99): ", "100")
            terminal.answer("Number of rooms on each floor (1 to 99): ", "3")
            assert terminal.wait() == 0, terminal.text
        assert "'castle' is not one of hotel, house, office, hospital." in terminal.text
        assert "'anna' is not an e-mail address such as anna@example.com." in terminal.text
        assert "'two' is not a number from 1 to 100." in terminal.text
        assert "'100' is not a number from 1 to 99." in terminal.text
        (plant,) = yaml.safe_load(file.read_text())["plants"]
        assert (plant["name"], plant["type"], plant["owner"]) == ("Hotel Aurora", "hotel", "anna@example.com")
        assert [len(floor["ambients"]) for floor in plant["floors"]] == [3, 3]

    def test_only_missing_values_are_asked_for(self) -> None:
        given = ("--name", "Villa", "--owner", "anna@example.com", "--floors", "1", "--rooms", "2")
        with Terminal("estate", "new", *given) as terminal:
            terminal.answer("Type (hotel, house, office, hospital): ", "house")
            assert terminal.wait() == 0, terminal.text
        assert "type: house" in terminal.text
        assert "Number" not in terminal.text

    def test_the_end_of_input_ends_the_command(self, tmp_path: Path) -> None:
        file = tmp_path / "hotel.yaml"
        with Terminal("estate", "new", str(file)) as terminal:
            terminal.answer("Name of the plant: ", END_OF_INPUT, end="")
            assert terminal.wait() == 130
        assert "Abort:" not in terminal.text
        assert "DOMOGATE_TRACEBACK" not in terminal.text
        assert not file.exists()


class TestInit:
    def test_it_asks_again_after_a_wrong_address(self, tmp_path: Path) -> None:
        with Terminal("init", "--data", str(tmp_path / "data")) as terminal:
            terminal.answer("E-mail of the first operator: ", "olga")
            terminal.answer("E-mail of the first operator: ", "olga@example.com")
            assert terminal.wait() == 0, terminal.text
        assert "'olga' is not an e-mail address such as anna@example.com." in terminal.text
        assert "open this link in a browser to set your password." in terminal.text
