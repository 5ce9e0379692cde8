"""Number of examples of a costly property test: few in the fast loop, more in the tests, many in `./dev soak`."""

import os

FAST_PROFILE, LONG_PROFILE = "fast", "long"
FAST_EXAMPLES = 10
_TIMES = 10


def examples(usual: int) -> int:
    if _profile() == FAST_PROFILE:
        return min(usual, FAST_EXAMPLES)
    return usual * _TIMES if is_long() else usual


def is_long() -> bool:
    """Whether the tests run as a part of `./dev soak`."""
    return _profile() == LONG_PROFILE


def _profile() -> str | None:
    return os.environ.get("HYPOTHESIS_PROFILE")
