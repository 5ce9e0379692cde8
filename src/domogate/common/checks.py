"""Checks of single values. Each returns the value, or raises ValueError that says what is allowed."""

from collections.abc import Callable


def between(low: float, high: float) -> Callable[[float], float]:
    def check(value: float) -> float:
        if not low <= value <= high:
            raise ValueError(f"a number from {low:g} to {high:g} is allowed")
        return value

    return check


def positive(value: float) -> float:
    if not 0 < value < float("inf"):
        raise ValueError("a number greater than 0 is allowed")
    return value
