"""An estate file in JSON is read as the YAML parser reads it, or not at all."""

import json
from io import StringIO
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import example, given, settings

from domogate.domain.estate import EstatePlant
from domogate.estate import EstateMistakes, read_estate
from domogate.estate.composing import compose
from domogate.estate.json_text import MOST_TEXT, read_json_parts
from domogate.estate.nodes import MAX_DEPTH, PLANTS
from domogate.estate.quick_read import NotQuick, to_raw
from domogate.estate.quick_scan import QuickScan
from domogate.estate.simple_yaml import NotSimple
from domogate.testing import Estate
from support.examples import examples

# The YAML parser refuses the two escapes with which JSON writes a character beyond U+FFFF.
TEXTS = st.text(st.characters(max_codepoint=0xFFFF), max_size=4)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
)


def read_quickly(text: str) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for key, value in read_json_parts(text):
        if key == PLANTS:
            document.setdefault(key, []).append(value)
        else:
            document[key] = value
    return document


def small_estate(name: str = "Home") -> str:
    estate = Estate()
    home = estate.plant(name, owner=estate.user("anna@example.com"))
    home.room("Kitchen", type="kitchen").light("Lamp", on=True, level=80)
    return json.dumps(estate.record)


@settings(deadline=None, max_examples=examples(100))
@given(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=3), st.booleans())
@example({"a": "\x00"}, True)
@example({"a": [1, 2.5, -0.0, 1e300, True, False, "true", "1", "", {"b": []}]}, True)
def test_any_object_is_read_as_the_yaml_parser_reads_it_or_not_at_all(document: dict[str, Any], ascii_only: bool) -> None:
    text = json.dumps(document, ensure_ascii=ascii_only)
    try:
        quickly = read_quickly(text)
    except NotSimple:
        return
    root, mistakes = compose(StringIO(text))
    assert not mistakes, mistakes
    assert root is not None
    assert quickly == {key: value for key, value in to_raw(root).items() if (key, value) != (PLANTS, [])}


@pytest.mark.parametrize(
    "text",
    [
        '{"users": [], "users": []}',
        '{"users": null}',
        '{"users": NaN}',
        '{"users": "a\\u0000"}',
        '{"users": "\\ud83d"}',
        '{"users": {"\\u0000": 1}}',
        '{"users": []} x',
        '{"users": [',
        '{"users":\t[]}',
        '{"users": [], "plants": {}}',
        '{"plants": []}',
        '{"users": ' + "[" * MAX_DEPTH + "]" * MAX_DEPTH + "}",
        '{"users": ' + "[" * 100_000,
        '{"users": "' + "a" * MOST_TEXT + '"}',
        "[]",
        "1",
    ],
    ids=lambda text: text[:30],
)
def test_text_that_may_have_a_mistake_is_left_to_the_yaml_parser(text: str) -> None:
    with pytest.raises((NotSimple, NotQuick)):
        list(read_json_parts(text))


def test_the_estate_of_the_test_kit_is_read_without_the_yaml_parser() -> None:
    plants: list[EstatePlant] = []
    file = QuickScan("x", plants.append, None).run(StringIO(small_estate()))
    assert file is not None
    assert [user.email for user in file.estate.users] == ["anna@example.com"]
    assert [plant.plant.name for plant in plants] == ["Home"]


def test_a_name_may_have_a_character_that_json_writes_as_two_escapes() -> None:
    (plant,) = read_estate(small_estate("Home 😀"), "x").estate.plants
    assert plant.plant.name == "Home 😀"


def test_a_mistake_is_told_with_its_place() -> None:
    with pytest.raises(EstateMistakes) as refused:
        read_estate(small_estate().replace('"light"', '"lihgt"'), "x")
    (mistake,) = refused.value.mistakes
    assert (mistake.line, mistake.path) == (1, "plants[0].ambients[0].modules[0].kind")
