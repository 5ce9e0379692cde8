"""Large files: they are read plant by plant, and the memory does not grow with their size."""

import json
import tracemalloc
from collections.abc import Iterator
from contextlib import nullcontext
from copy import deepcopy
from functools import cache
from io import StringIO, TextIOBase
from typing import Any, TextIO, cast

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator

from domogate.domain.estate import Estate, EstatePlant
from domogate.estate import (
    EstateMistakes,
    PlantSpool,
    composing,
    demo_text,
    print_estate,
    read_estate,
    scan_estate,
    schema_text,
)
from domogate.estate.composing import compose
from domogate.estate.quick_read import NotQuick, to_raw
from domogate.estate.schema import guide, quick_reader
from support.estate_documents import draw_place
from support.examples import examples, is_long

pytestmark = pytest.mark.slow

USERS = "users:\n  - {email: anna@example.com, name: Anna}\n"


def a_plant(number: int, modules: int = 0, **changed: str) -> str:
    facts = {"type": "house", "owner": "anna@example.com", **changed}
    lines = [f"  - id: {number:08x}-0000-4000-8000-000000000000", f"    name: Plant {number}", "    driver: simulator"]
    lines += [f"    {key}: {value}" for key, value in facts.items()]
    lines += ["    modules:"] if modules else []
    lines += [f"      - {{id: {number:08x}-0000-4000-8001-{n:012x}, name: Lamp {n}, kind: light}}" for n in range(modules)]
    return "\n".join(lines) + "\n"


class _Lines(TextIOBase):
    """Text that is made while it is read, so that the text itself needs no memory."""

    def __init__(self, pieces: Iterator[str]) -> None:
        self._pieces = pieces
        self._rest = ""

    def read(self, size: int | None = -1) -> str:
        while len(self._rest) < (size or 0) and (piece := next(self._pieces, "")):
            self._rest += piece
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken


def peak_of_reading(plants: int, begin: str) -> int:
    def pieces() -> Iterator[str]:
        yield f"{begin}plants:\n"
        for number in range(plants):
            yield a_plant(number, 50)

    taken = 0

    def take(_: EstatePlant) -> None:
        nonlocal taken
        taken += 1

    tracemalloc.start()
    try:
        scan_estate(lambda: nullcontext(cast(TextIO, _Lines(pieces()))), "large", take)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        assert taken == plants


class TestReadingPlantByPlant:
    @pytest.mark.parametrize("begin", [USERS, f"--- # The YAML parser must read this.\n{USERS}"])
    def test_the_memory_does_not_grow_with_the_file(self, begin: str) -> None:
        peak_of_reading(2, begin)  # fills the caches
        # The file is read in blocks. 40 plants are more than two blocks, so both files need the memory of whole blocks.
        few, many = (60, 120) if is_long() else (40, 70)
        assert peak_of_reading(many, begin) < 1.3 * peak_of_reading(few, begin)

    def test_there_is_no_limit_of_characters(self) -> None:
        comment = "#" + "x" * (1024 * 1024 - 2) + "\n"

        def pieces() -> Iterator[str]:
            yield USERS
            for _ in range(70):
                yield comment
            yield "plants:\n" + a_plant(1)

        found: list[EstatePlant] = []
        scan_estate(lambda: nullcontext(cast(TextIO, _Lines(pieces()))), "large", found.append)
        assert [each.plant.name for each in found] == ["Plant 1"]

    def test_an_export_is_read_without_the_yaml_parser(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The parser needs several times as long."""
        estate = read_estate(demo_text(), "demo").estate
        text = print_estate(estate)
        monkeypatch.delattr(composing, "compose")
        assert len(read_estate(text, "export").estate.plants) == len(estate.plants)

    def test_users_may_be_written_after_the_plants(self) -> None:
        before = read_estate(f"{USERS}plants:\n{a_plant(1, 3)}{a_plant(2)}", "x").estate
        assert read_estate(f"plants:\n{a_plant(1, 3)}{a_plant(2)}{USERS}", "x").estate == before

    @pytest.mark.parametrize("order", ["{users}plants:\n{plants}", "plants:\n{plants}{users}"])
    def test_mistakes_have_the_number_and_the_line_of_their_plant(self, order: str) -> None:
        plants = a_plant(1) + a_plant(2, type="castle") + a_plant(1, owner="bruno@example.com")
        with pytest.raises(EstateMistakes) as refused:
            read_estate(order.format(users=USERS, plants=plants), "x")
        first = 4 if order.startswith("{users}") else 2
        assert [(it.line - first, it.path) for it in refused.value.mistakes] == [
            (8, "plants[1].type"),
            (10, "plants[2].id"),
            (14, "plants[2].owner"),
        ]
        assert "already used by plants[0]" in refused.value.mistakes[1].problem

    def test_mistakes_of_plants_and_of_users_are_told_together(self) -> None:
        text = f"users:\n  - {{email: nobody, name: Anna}}\nplants:\n{a_plant(1, type='castle')}"
        with pytest.raises(EstateMistakes) as refused:
            read_estate(text, "x")
        assert {it.path for it in refused.value.mistakes} == {"users[0].email", "plants[0].type", "plants[0].owner"}

    def test_a_control_character_far_behind_is_told_with_its_place(self) -> None:
        with pytest.raises(EstateMistakes) as refused:
            read_estate(f"{USERS}{'# a comment' * 9}\n" * 4_000 + "plants: \x07", "x")
        (mistake,) = refused.value.mistakes
        assert (mistake.line, mistake.column) == (12_001, 9)


class TestSpool:
    def test_plants_come_back_as_they_were_and_more_than_once(self) -> None:
        plants = read_estate(demo_text(), "demo").estate.plants
        with PlantSpool() as spool:
            for plant in plants:
                spool.add(plant)
            assert tuple(spool) == tuple(spool) == plants
            assert spool.modules == sum(len(list(plant.topology.every_module())) for plant in plants)

    def test_an_empty_spool(self) -> None:
        with PlantSpool() as spool:
            assert Estate(plants=tuple(spool)) == Estate()


_VALUES: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | st.just([]) | st.just({})
)


class TestTheQuickReader:
    def test_it_reads_the_demo_estate_as_the_slower_way_does(self) -> None:
        root, _ = compose(StringIO(demo_text()))
        assert root is not None
        assert quick_reader().read(to_raw(root)) == guide().to_data(root)

    @pytest.mark.parametrize("wrong", [[], {}, ["house"]])
    def test_it_refuses_a_list_or_an_object_where_a_word_is_expected(self, wrong: Any) -> None:
        document = deepcopy(_demo())
        document["plants"][0]["type"] = wrong
        with pytest.raises(NotQuick):
            quick_reader().read(_raw(document))

    @settings(deadline=None, max_examples=examples(20))
    @given(st.data())
    def test_it_never_passes_what_the_schema_refuses(self, data: st.DataObject) -> None:
        document = deepcopy(_demo())
        document["plants"] = [document["plants"][data.draw(st.integers(0, len(document["plants"]) - 1))]]
        place, key = draw_place(data, document)
        match data.draw(st.integers(0, 3)):
            case 0 | 1 if isinstance(place, dict):
                place[key] = data.draw(st.sampled_from(list(_values_of(key, _demo()))))
            case 2 if isinstance(place, dict):
                place[data.draw(st.sampled_from(["steps", "units", "state", "on", "kind", "oddity"]))] = place.pop(key)
            case _:
                place[key] = data.draw(_VALUES)
        try:
            read = quick_reader().read(_raw(document))
        except NotQuick:
            return
        assert _by_jsonschema(read) == []


def _raw(value: Any) -> Any:
    """The value as it is written: text in quotes, and everything else plain."""
    match value:
        case dict():
            return {key: _raw(item) for key, item in value.items()}
        case list():
            return [_raw(item) for item in value]
        case str():
            return (value,)
        case bool():
            return "true" if value else "false"
        case None:
            return ("",)
    return repr(value)


def _values_of(key: str, document: Any) -> Iterator[Any]:
    """The values that this key has in the document. Many of them are valid in other places too."""
    if isinstance(document, dict) and key in document:
        yield document[key]
    for part in document.values() if isinstance(document, dict) else document if isinstance(document, list) else ():
        yield from _values_of(key, part)


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(json.loads(schema_text()))


def _by_jsonschema(document: Any) -> list[str]:
    """The violations of all rules but the formats."""
    return [error.message for error in _validator().iter_errors(document)]


@cache
def _demo() -> dict[str, Any]:
    root, _ = compose(StringIO(demo_text()))
    assert root is not None
    document: dict[str, Any] = guide().to_data(root)
    return document
