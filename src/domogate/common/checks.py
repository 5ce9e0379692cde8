"""Checks of single values. A check returns the value, or raises a ValueError that says which values are allowed."""

from collections.abc import Callable


def between(low: float, high: float) -> Callable[[float], float]:
    def check(value: float) -> float:
        if not low <= value <= high:
            raise ValueError(f"a number from {low:.12g} to {high:.12g} is allowed")
        return value

    return check


MOST = 1e10
"""The greatest value that `positive` accepts: 317 years in seconds.

A period of thousands of years could end after the year 9999, the last year of Python's dates.
"""


def positive(value: float) -> float:
    if not 0 < value <= MOST:
        raise ValueError(f"a number greater than 0 and at most {MOST:.0f} is allowed")
    return value
