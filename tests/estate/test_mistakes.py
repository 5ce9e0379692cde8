"""All mistakes are reported at once, each with its line, its path and what is allowed."""

import pytest

from domogate.estate import EstateMistakes, Mistake, demo_text, read_estate
from support.estate_mistakes import LAMP, OTHER, house, mistakes, module, modules, the_mistake


class TestHowAMistakeLooks:
    def test_it_names_file_line_column_path_problem_and_what_is_allowed(self) -> None:
        with pytest.raises(EstateMistakes) as caught:
            read_estate(house("floors:", "  - {id: 1, name: x}").replace("type: house", "type: castle"), "estate.yaml")
        assert caught.value.lines() == [
            "estate.yaml:6:11 plants[0].type: 'castle' is not a type of plant; allowed: hotel, house, office, hospital",
            "estate.yaml:10:14 plants[0].floors[0].id: '1' is not a UUID; "
            "allowed: 8-4-4-4-12 hexadecimal digits, such as 123e4567-e89b-42d3-a456-426614174000",
        ]
        assert str(caught.value) == "\n".join(caught.value.lines())

    def test_all_are_told_at_once_and_in_the_order_of_the_file(self) -> None:
        text = """\
users:
  - {email: anna, standing: gud}
  - {emial: bruno@example.com}
subscriptions:
  - {name: short, key: abc}
plants:
  - {id: x, name: y, type: z, owner: nobody@example.com}
"""
        found = mistakes(text)
        assert [(told.line, told.path) for told in found] == [
            (2, "users[0].email"),
            (2, "users[0].standing"),
            (3, "users[1]"),
            (3, "users[1].emial"),
            (5, "subscriptions[0].key"),
            (7, "plants[0].id"),
            (7, "plants[0].type"),
            (7, "plants[0].owner"),
        ]

    def test_a_long_value_is_not_repeated_at_length(self) -> None:
        told = the_mistake(module(f"kind: {'x' * 5000}"))
        assert len(told.problem) < 120

    @pytest.mark.parametrize(
        "line",
        [
            "users: [{email: a@example.com, password: hush-7}]",
            "users: [{email: a@example.com, password: [hush-7]}]",
            "subscriptions: [{name: x, key: hush-7}]",
            "subscriptions: [{name: x, key: 'hush-7 with spaces in it'}]",
            "users: [{email: a@example.com, totpSecret: hush-7}]",
            "clients: [{id: x, name: x, scopes: [], secret: hush-7}]",
            "clients: [{id: x, name: x, scopes: [], secret: {hush-7: 1}}]",
        ],
    )
    def test_a_secret_is_never_repeated(self, line: str) -> None:
        with pytest.raises(EstateMistakes) as caught:
            read_estate(line, "estate.yaml")
        assert "hush-7" not in str(caught.value)


class TestMistypedWords:
    def test_a_key_that_does_not_exist_is_told_at_the_key_with_the_nearest_one(self) -> None:
        told = the_mistake(house("adress: Via Roma 1"))
        assert (told.line, told.column, told.path) == (9, 5, "plants[0].adress")
        assert told.problem == "'adress' does not belong to a plant"
        assert "address" in told.allowed
        assert told.hint == "Did you mean 'address'?"

    def test_a_kind_that_does_not_exist_is_told_with_the_nearest_one(self) -> None:
        told = the_mistake(module("kind: ligth, state: {on: true}"))
        assert told.problem == "'ligth' is not a kind of module"
        assert told.allowed.startswith("light, automation, plug")
        assert told.hint == "Did you mean 'light'?"

    def test_a_missing_key_is_told_with_the_one_that_may_be_meant(self) -> None:
        found = mistakes("plants: [{id: ca5a0001-0000-4000-8000-000000000000, nmae: x, type: house, owner: a@example.com}]")
        assert "'name' is missing ('nmae' may be meant for it)" in [told.problem for told in found]

    def test_a_correct_key_is_not_meant_for_a_missing_one(self) -> None:
        plant = "plants: [{id: ca5a0001-0000-4000-8000-000000000000, name: x, type: house, owner: a@example.com, modules: ["
        found = mistakes(plant + "{name: Lamp, kind: light, driver: simulator, state: {on: true}}]}]")
        (told,) = [told for told in found if "missing" in told.problem]
        assert told.problem == "'id' is missing"
        assert told.hint == "`uuidgen` makes one"

    def test_a_section_that_does_not_exist(self) -> None:
        told = the_mistake("plant: []")
        assert told.hint == "Did you mean 'plants'?"
        assert told.allowed == "users, subscriptions, clients, plants, spareParts"

    def test_nothing_is_suggested_where_nothing_is_near(self) -> None:
        assert the_mistake(module("kind: zzz")).hint == ""


@pytest.mark.parametrize(
    ("record", "path", "problem", "allowed"),
    [
        ("kind: light, state: {on: true, level: 101}", "state.level", "101 is too large", "0 to 100"),
        ("kind: light, state: {on: true, level: -1}", "state.level", "-1 is too small", "0 to 100"),
        ("kind: light, state: {on: true, level: 1.5}", "state.level", "1.5 is not a whole number", "a whole number"),
        (
            "kind: light, state: {on: true, color: {hue: 361, saturation: 0, value: 0}}",
            "state.color.hue",
            "361 is too large",
            "0 to 360",
        ),
        (
            "kind: light, state: {on: true, color: {hue: 0, saturation: 100.5, value: 0}}",
            "state.color.saturation",
            "100.5 is too large",
            "0 to 100",
        ),
        ("kind: light, state: {on: true, color: {hue: 0, saturation: 0}}", "state.color", "'value' is missing", ""),
        ("kind: light, state: {level: 3}", "state", "'on' is missing", ""),
        ("kind: light, state: bright", "state", "'bright' is text", "a mapping (keys with values)"),
        (
            "kind: plug, state: {on: true, level: 3}",
            "state.level",
            "'level' does not belong to a plug state",
            "on, power, energy",
        ),
        ("kind: plug, state: {on: true, power: 100001}", "state.power", "100001 is too large", "0 to 100000"),
        ("kind: plug, state: {on: true, energy: {value: -1}}", "state.energy.value", "-1 is too small", "0 to 100000"),
        ("kind: automation, state: {position: 101}", "state.position", "101 is too large", "0 to 100"),
        (
            "kind: remote, state: {battery: empty}",
            "state.battery",
            "'empty' is not a battery level",
            "full, high, medium, low, very_low, unknown",
        ),
        (
            "kind: remote, state: {battery: full, firmware: 2147483648}",
            "state.firmware",
            "2147483648 is too large",
            "0 to 2147483647",
        ),
        ("kind: multisocket, state: {sockets: []}", "state.sockets", "this is too short (0)", "at least 1 entry"),
        ("kind: scene, state: {on: true}", "state", "a module of kind 'scene' has no 'state'", ""),
        ("kind: light, steps: []", "steps", "a module of kind 'light' has no 'steps'", ""),
        ("kind: plug, programs: []", "programs", "a module of kind 'plug' has no 'programs'", ""),
        ("kind: lock, failures: []", "failures", "a module of kind 'lock' has no 'failures'", ""),
        ("kind: emergency controller, alertLevel: 0", "alertLevel", "0 is too small", "1 to 1000000"),
        (
            "kind: light, metrics: [{label: x, type: Word}]",
            "metrics[0].type",
            "'Word' is not a metric type",
            "Text, Number, Object",
        ),
        (
            "kind: light, capabilities: [{name: x, command: true, request: true}]",
            "capabilities[0]",
            "'notification' is missing",
            "",
        ),
        ("kind: light, reachable: maybe", "reachable", "'maybe' is text", "true or false"),
        ("kind: light, type: ~", "type", "there is no value here", "text"),
    ],
)
def test_a_module_that_breaks_a_rule(record: str, path: str, problem: str, allowed: str) -> None:
    told = the_mistake(module(record))
    assert (told.line, told.path) == (10, f"plants[0].modules[0].{path}")
    assert (told.problem, told.allowed) == (problem, allowed)


class TestThermostats:
    @pytest.mark.parametrize(
        ("state", "path", "problem", "allowed"),
        [
            ("mode: manual, setPoint: 2.9", "state.setPoint", "2.9 is too small", "3 to 40"),
            ("mode: manual, setPoint: 40.1", "state.setPoint", "40.1 is too large", "3 to 40"),
            (
                "mode: eco, setPoint: 20",
                "state.mode",
                "'eco' is not a thermostat mode",
                "automatic, manual, boost, off, protection",
            ),
            ("mode: manual, setPoint: 20, program: 12", "state.program", "12 is too large", "0 to 11"),
            ("mode: manual, setPoint: 20, program: 5", "state.program", "the thermostat has no program 5", "0, 3"),
            ("mode: manual, setPoint: 20, scale: K", "state.scale", "'K' is not a temperature scale", "C, F"),
            (
                "mode: automatic, setPoint: 20",
                "state",
                "a thermostat in mode automatic needs the number of its active 'program'",
                "",
            ),
        ],
    )
    def test_a_state_that_breaks_a_rule(self, state: str, path: str, problem: str, allowed: str) -> None:
        programs = "programs: [{number: 0, name: A}, {number: 3, name: B}]"
        told = the_mistake(module(f"kind: chronothermostat, {programs}, state: {{function: heating, {state}}}"))
        assert told.path == f"plants[0].modules[0].{path}"
        assert (told.problem, told.allowed) == (problem, allowed)

    def test_two_programs_of_one_number(self) -> None:
        told = the_mistake(module("kind: chronothermostat, programs: [{number: 1, name: A}, {number: 1, name: B}]"))
        assert told.path == "plants[0].modules[0].programs[1].number"
        assert told.problem == "the thermostat already has a program 1"


class TestScenes:
    def scene(self, step: str, other: str = "kind: plug") -> Mistake:
        return the_mistake(modules(f"id: {LAMP}, name: S, kind: scene, steps: [{{{step}}}]", f"id: {OTHER}, name: M, {other}"))

    def test_a_module_of_no_plant(self) -> None:
        told = self.scene("module: ca5a0001-0001-4000-8000-00000000dead, do: switch plug, on: true")
        assert told.path == "plants[0].modules[0].steps[0].module"
        assert told.allowed == "the id of a module of the same plant"

    def test_a_command_that_does_not_fit_the_kind(self) -> None:
        told = self.scene(f"module: {OTHER}, do: set light, on: true")
        assert told.path == "plants[0].modules[0].steps[0].do"
        assert told.problem == "'set light' does not fit a module of kind 'plug'"
        assert told.allowed == "switch plug"

    def test_a_module_that_cannot_be_commanded(self) -> None:
        told = self.scene(f"module: {OTHER}, do: set light, on: true", "kind: remote")
        assert told.allowed == "a module that takes this command"

    def test_a_key_that_does_not_belong_to_the_command(self) -> None:
        told = self.scene(f"module: {OTHER}, do: switch plug, on: true, level: 3")
        assert told.path == "plants[0].modules[0].steps[0].level"
        assert told.allowed == "module, do, on"

    def test_a_key_that_the_command_needs(self) -> None:
        assert self.scene(f"module: {OTHER}, do: switch plug").problem == "'on' is missing"

    def test_a_command_that_does_not_exist(self) -> None:
        told = self.scene(f"module: {OTHER}, do: switch plugs, on: true")
        assert told.hint == "Did you mean 'switch plug'?"

    def test_a_socket_that_the_multisocket_does_not_have(self) -> None:
        told = self.scene(
            f"module: {OTHER}, do: switch socket, socket: 2, on: true", "kind: multisocket, state: {sockets: [true, true]}"
        )
        assert (told.problem, told.allowed) == ("the multisocket has no socket 2", "0 to 1")

    @pytest.mark.parametrize("values", ["on: true, level: 0", "on: true, color: {hue: 1, saturation: 1, value: 0}"])
    def test_a_light_that_is_on_with_level_0(self, values: str) -> None:
        told = self.scene(f"module: {OTHER}, do: set light, {values}", "kind: light")
        assert told.problem == "a light cannot be on with level 0"

    def test_a_program_that_the_thermostat_does_not_have(self) -> None:
        told = self.scene(f"module: {OTHER}, do: set thermostat, program: 4", "kind: chronothermostat")
        assert told.path == "plants[0].modules[0].steps[0].program"


class TestEmergencyLighting:
    def test_a_unit_on_nothing(self) -> None:
        assert the_mistake(module("kind: emergency unit")).problem == "'controller' is missing"

    def test_a_unit_on_what_is_no_controller(self) -> None:
        told = the_mistake(
            modules(f"id: {LAMP}, name: U, kind: emergency unit, controller: {OTHER}", f"id: {OTHER}, name: L, kind: light")
        )
        assert told.path == "plants[0].modules[0].controller"
        assert told.allowed == "the id of a module of kind 'emergency controller'"

    def test_a_failure_that_does_not_exist(self) -> None:
        told = the_mistake(module(f"kind: emergency controller, units: [{{id: {OTHER}, failures: [BLOCK.FAULTY_BATERY]}}]"))
        assert told.path == "plants[0].modules[0].units[0].failures[0]"
        assert told.problem == "'BLOCK.FAULTY_BATERY' is not a failure type"
        assert told.hint == "Did you mean 'BLOCK.FAULTY_BATTERY'?"

    def test_a_flag_that_is_not_hexadecimal(self) -> None:
        told = the_mistake(module("kind: emergency controller, failures: [{type: BLOCK.DLD, flag: 0xZZ}]"))
        assert told.path == "plants[0].modules[0].failures[0].flag"

    def test_a_site_that_says_it_is_none(self) -> None:
        told = the_mistake(
            module("kind: emergency controller").replace("    modules", "    emergencyLighting: false\n    modules")
        )
        assert told.problem == "the plant holds emergency controllers"


def test_the_demo_estate_with_a_broken_line_points_at_that_line() -> None:
    lines = demo_text().splitlines()
    number = next(index for index, line in enumerate(lines) if "kind: chronothermostat" in line)
    lines[number] = lines[number].replace("chronothermostat", "thermostat")
    told = the_mistake("\n".join(lines))
    assert told.line == number + 1
    assert told.hint == "Did you mean 'chronothermostat'?"
