"""`domogate simulate`."""

import pytest
import yaml

from domogate.cli.simulate import OPTION, Behaviour
from domogate.domain.devices import DeviceKind
from domogate.domain.ids import Id
from domogate.domain.plants import Module
from domogate.drivers.simulator import behaviour
from support.command_line import CommandLine
from support.small_estate import LAMPS, LIGHT, SMALL_ESTATE


@pytest.fixture
def small(domogate: CommandLine) -> CommandLine:
    domogate.good("estate", "import", "-", input=SMALL_ESTATE)
    return domogate


def options_of(domogate: CommandLine, module_id: str) -> object:
    plant = yaml.safe_load(domogate.good("estate", "export"))["plants"][0]
    return next(module.get("options") for module in plant["modules"] if module["id"] == module_id)


class TestSimulate:
    @pytest.mark.parametrize("word", list(Behaviour))
    def test_the_simulator_understands_every_word(self, word: Behaviour) -> None:
        module = Module(Id(LIGHT), Id(LIGHT), "Desk", DeviceKind.LIGHT, options={OPTION: word.value})
        assert behaviour.behaviour_of(module).value == word.value

    def test_no_word_of_the_simulator_is_missing(self) -> None:
        assert {word.value for word in behaviour.Behaviour} == {word.value for word in Behaviour}

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
        assert "estate export" in small.refused("simulate", "Chandelier", "slow")
        assert small.run("simulate", LIGHT, "asleep").exit_code == 2
