"""How often a costly property is tried: a few times in the tests, many times in the long runs of `./dev soak`."""

import os

LONG_PROFILE = "long"
_TIMES = 10


def examples(usual: int) -> int:
    return usual * _TIMES if os.environ.get("HYPOTHESIS_PROFILE") == LONG_PROFILE else usual
