"""The sizes of the parts of an import that is fast: without a database, because the largest parts have thousands of modules."""

import pytest

from domogate.stores.parts import PartSize


@pytest.mark.parametrize(
    ("alone", "expected"),
    [(False, [250, 500, 1000, 2000, 2000, 2000]), (True, [250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000])],
)
def test_a_part_is_at_most_twice_as_large_as_the_part_before(alone: bool, expected: list[int]) -> None:
    size = PartSize()
    for wanted in expected:
        assert size.next == wanted
        size.adapt(wanted, 0.0, alone=alone)
