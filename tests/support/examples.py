"""Number of examples of a costly property test: few in the tests, many in `./dev soak`."""

import os

LONG_PROFILE = "long"
_TIMES = 10


def examples(usual: int) -> int:
    return usual * _TIMES if os.environ.get("HYPOTHESIS_PROFILE") == LONG_PROFILE else usual
