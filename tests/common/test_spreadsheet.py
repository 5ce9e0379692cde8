"""CSV without formulas."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domogate.common.spreadsheet import print_csv


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx"])
def test_a_text_that_looks_like_a_formula_is_marked(text: str) -> None:
    assert next(csv.reader(io.StringIO(print_csv([(text,)]), newline="")))[0] == f"'{text}"


def test_numbers_stay_numbers_and_none_is_empty() -> None:
    assert print_csv([(-1.5, 3, None, "a-b")], "\n") == "-1.5,3,,a-b\n"


@given(st.lists(st.text(), min_size=2))
def test_no_cell_begins_like_a_formula_and_the_text_is_kept(texts: list[str]) -> None:
    (read,) = csv.reader(io.StringIO(print_csv([texts]), newline=""))
    for cell, text in zip(read, texts, strict=True):
        assert cell.removeprefix("'") == text.removeprefix("'")
        assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
