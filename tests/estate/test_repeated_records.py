"""Records that differ only in their ids and their name are read as the YAML parser reads them."""

from io import StringIO
from typing import Any

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import given, settings

from domogate.domain.estate import EstatePlant
from domogate.estate import EstateMistakes, read_estate
from domogate.estate.composing import compose
from domogate.estate.nodes import PLANTS
from domogate.estate.quick_read import to_raw
from domogate.estate.quick_scan import QuickScan
from domogate.estate.repeated import MOST_RESTS, RepeatedRecord
from domogate.estate.simple_yaml import NotSimple, read_parts
from support.examples import examples

pytestmark = pytest.mark.slow

_SIGNS = ["\n", "\n\n", "\n            # a comment\n", " ", "  ", "- ", "- id: ", "name: x\n", "null", "'", '"', "#", ": ", "é"]


def an_id(plant: int, place: int, number: int = 0) -> str:
    return f"{plant:08x}-{place:04x}-4000-8000-{number:012x}"


def a_record(indent: int, plant: int, place: int, name: str, *lines: str) -> str:
    head = [f"- id: {an_id(plant, place)}", f"  internalId: {an_id(plant, place, 1)}", f"  name: {name}"]
    return "".join(f"{' ' * indent}{line}\n" for line in (*head, *(f"  {line}" for line in lines)))


LIGHT = ("kind: light", "state: {on: true, level: 60}")
THERMOSTAT = (
    "kind: chronothermostat",
    "programs:",
    "  - {number: 1, name: Comfort}",
    "state: {function: heating, mode: manual, setPoint: 21}",
)


def a_plant(number: int, driver: str) -> str:
    return "".join(
        [
            a_record(2, number, 0, f"Plant {number}", "type: house", "owner: anna@example.com", f"driver: {driver}", "floors:"),
            a_record(6, number, 1, "Ground floor", "ambients:"),
            a_record(10, number, 2, "Kitchen", "type: kitchen", "modules:"),
            *(a_record(14, number, place, f"Light {place}", *LIGHT) for place in range(10, 14)),
            a_record(14, number, 20, "12", "kind: light", "reachable: false"),
            a_record(14, number, 21, "Warm - 2", *THERMOSTAT),
            a_record(10, number, 3, "Hall", "modules:"),
            a_record(14, number, 30, "Light 30", *LIGHT),
            "    modules:\n",
            a_record(
                6, number, 40, "Away", "kind: scene", f"steps: [{{module: {an_id(number, 10)}, do: set light, on: false}}]"
            ),
            a_record(6, number, 41, "Light 41", *LIGHT),
            a_record(6, number, 42, "Light 42", *LIGHT),
        ]
    )


TEXT = f"users:\n  - {{email: anna@example.com, name: Anna}}\nplants:\n{a_plant(1, 'simulator')}{a_plant(2, 'mqtt')}"


def read_simply(text: str) -> list[Any]:
    return [value for key, value in read_parts(StringIO(text)) if key == PLANTS]


def read_by_parser(text: str) -> Any:
    root, mistakes = compose(StringIO(text))
    assert not mistakes, mistakes
    assert root is not None
    return to_raw(root)[PLANTS]


def scan_quickly(text: str) -> tuple[EstatePlant, ...] | None:
    plants: list[EstatePlant] = []
    file = QuickScan("repeated", plants.append, None).run(StringIO(text))
    return None if file is None else tuple(plants)


class TestText:
    def test_it_is_read_as_the_yaml_parser_reads_it(self) -> None:
        found = read_simply(TEXT)
        assert found == read_by_parser(TEXT)
        assert all(type(module) is RepeatedRecord for plant in found for module in plant["modules"])

    @settings(deadline=None, max_examples=examples(150))
    @given(st.data())
    def test_changed_text_is_read_as_the_yaml_parser_reads_it_or_not_at_all(self, data: st.DataObject) -> None:
        text = TEXT
        for _ in range(data.draw(st.integers(1, 3))):
            at = data.draw(st.integers(TEXT.index(a_plant(1, "simulator")), len(text)))
            cut = data.draw(st.integers(0, 3))
            text = text[:at] + data.draw(st.sampled_from(_SIGNS) | st.text(max_size=2)) + text[at + cut :]
        try:
            simply = read_simply(text)
        except NotSimple:
            return
        assert simply == read_by_parser(text)

    @pytest.mark.parametrize("between", ["\n", "                # a comment\n", "# a comment\n"])
    def test_lines_without_content_inside_a_record_are_simple(self, between: str) -> None:
        text = TEXT.replace("                kind: light\n", f"                kind: light\n{between}")
        assert text != TEXT
        assert read_simply(text) == read_by_parser(text)


class TestScan:
    def test_it_builds_the_same_plants_as_the_yaml_parser(self) -> None:
        plants = scan_quickly(TEXT)
        assert plants == read_estate(f"---\n{TEXT}", "repeated").estate.plants
        assert plants is not None
        drivers = [{module.driver for module in plant.topology.every_module()} for plant in plants]
        assert drivers == [{"simulator"}, {"simulator", "mqtt"}]  # A scene has no driver of a plant.

    def test_it_builds_more_different_records_than_it_caches(self) -> None:
        lights = (
            a_record(6, 1, place, f"Light {place}", "kind: light", f"options: {{number: {place}}}", "state: {on: true}")
            for place in range(1, MOST_RESTS + 20)
        )
        head = a_record(2, 1, 0, "Plant", "type: house", "owner: anna@example.com", "driver: mqtt", "modules:")
        text = f"users:\n  - {{email: anna@example.com, name: Anna}}\nplants:\n{head}{''.join(lights)}"
        plants = scan_quickly(text)
        assert plants is not None
        built = {module.id: module.options for module in plants[0].topology.modules}
        assert built == {an_id(1, place): {"number": place} for place in range(1, MOST_RESTS + 20)}
        assert [msgspec.structs.astuple(state)[0] for state in plants[0].states] == list(built)

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (an_id(2, 13), an_id(2, 12)),
            (an_id(2, 13), an_id(2, 13).replace("-", "0", 1)),
            (an_id(2, 13, 1), an_id(1, 10, 1)),
            ("name: Light 42", f"name: {'x' * 300}"),
            ("kind: scene", "kind: scenery"),
        ],
    )
    def test_it_leaves_mistakes_in_a_repeated_record_to_the_yaml_parser(self, old: str, new: str) -> None:
        changed = TEXT.replace(old, new)
        assert changed != TEXT
        assert scan_quickly(changed) is None
        with pytest.raises(EstateMistakes):
            read_estate(changed, "repeated")

    def test_an_ambient_with_the_lines_of_a_module_is_a_mistake(self) -> None:
        changed = TEXT.replace("            type: kitchen\n", "".join(f"            {line}\n" for line in LIGHT), 1)
        assert changed != TEXT
        assert scan_quickly(changed) is None
