"""Strict JSON: everything that RFC 8259 allows, and nothing else."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domogate.common.strict_json import JsonRefused, parse_json

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(values)
def test_every_json_value_is_read_as_it_was_written(value: Any) -> None:
    assert parse_json(json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "is empty"),
        (b"{", "is not JSON: Expecting property name"),
        (b'{"a": 1, "a": 1}', "the same key twice"),
        (b'[{"a": {"b": 1, "b": 2}}]', "the same key twice"),
        (b"NaN", "holds NaN"),
        (b"[-Infinity]", "holds -Infinity"),
        (b"1e999", "out of range"),
        (b"1" * 5000, "too long"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[" * 970 + b"]" * 970, "nested too deeply"),
        (b"[" * 101 + b"]" * 101, "nested too deeply"),
        (b'{"a":' * 101 + b"[0, []]" + b"}" * 101, "nested too deeply"),
        (b'{"\\ud800": 1}', "lone surrogate"),
        (b'[{"a": ["\\uDFFF"]}]', "lone surrogate"),
        (b'"\\udc00\\ud800"', "lone surrogate"),
        (b'"\xff"', "is not UTF-8"),
        (b"\xef\xbb\xbf1", "is not JSON"),
    ],
)
def test_anything_else_is_refused_with_the_reason(text: bytes, reason: str) -> None:
    with pytest.raises(JsonRefused, match=reason):
        parse_json(text)


def test_a_hundred_levels_and_characters_in_two_escapes_are_read() -> None:
    deep = parse_json(b"[" * 100 + b"]" * 100)
    assert json.dumps(deep) == "[" * 100 + "]" * 100
    assert parse_json(b'"\\ud83d\\ude8b"') == "\N{TRAM CAR}"
    assert parse_json(b'"\\\\ud800"') == "\\ud800"
    assert parse_json(b'["' + b"[" * 200 + b'"]') == ["[" * 200]
