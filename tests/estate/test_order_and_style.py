"""The order of the keys of an estate file, and the style of its text, do not change what is read."""

import json
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import example, given, settings

from domogate.estate import read_estate
from domogate.testing import Estate
from support.examples import examples

USERS_FIRST = ("users", "subscriptions", "clients", "spareParts", "plants")
USERS_LAST = USERS_FIRST[::-1]


def _as_json(document: dict[str, Any]) -> str:
    return json.dumps(document)


def _as_json_on_many_lines(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2)


def _as_json_with_a_comment(document: dict[str, Any]) -> str:
    return f"{json.dumps(document)} # the end"


def _as_simple_yaml(document: dict[str, Any]) -> str:
    lines = []
    for key, records in document.items():
        lines += [f"{key}:", *(f"  - {json.dumps(record)}" for record in records)] if records else [f"{key}: []"]
    return "\n".join(lines)


STYLES = (_as_json, _as_json_on_many_lines, _as_json_with_a_comment, _as_simple_yaml)


def a_document(levels: list[float]) -> dict[str, Any]:
    """An estate with one plant for each level. Each plant has a lamp with this level."""
    estate = Estate()
    owner = estate.user("anna@example.com")
    for number, level in enumerate(levels):
        estate.plant(f"Plant {number}", owner=owner).room("Kitchen", type="kitchen").light("Lamp", level=level)
    return {key: estate.record.get(key, []) for key in USERS_FIRST}


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(60))
@given(
    # The quick scan leaves 50.0 to the YAML parser: a level is a whole number.
    st.lists(st.sampled_from([50, 50.0]), max_size=4),
    st.permutations(USERS_FIRST),
    st.sampled_from(STYLES),
)
@example([50, 50.0], USERS_LAST, _as_json)
def test_each_plant_is_read_once_in_any_order_and_style(
    levels: list[float], order: list[str], style: Callable[[dict[str, Any]], str]
) -> None:
    document = a_document(levels)
    plainly = read_estate(f"---\n{_as_simple_yaml(document)}", "x").estate
    assert [each.plant.name for each in plainly.plants] == [f"Plant {number}" for number in range(len(levels))]
    assert read_estate(style({key: document[key] for key in order}), "x").estate == plainly
